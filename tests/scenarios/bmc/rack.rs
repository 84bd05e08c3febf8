//! Racks of emulated machines behind BMCs of all vendors, each added by one import: all become hosts, faults of some of
//! them are reported and delay no other, and it can be stopped in the middle. The machines are simulated; under QEMU:
//! `bmc::discovery`, `bmc::vendors`.

use std::time::Duration;

use muster_api::bmc::{Bmc, BmcFailure, BmcPhase};
use muster_bmc_emulator::quirks::{Lag, ShownPower, TaskEnd, Tasks};
use muster_bmc_emulator::{Booted, Fault, FaultKind};
use muster_tests::artifacts::live_image;
use muster_tests::bmc::{Rack, Reading, Unit, import, line};
use muster_tests::condition::{assert_throughout, await_condition};
use muster_tests::service::{Service, Settings};

use muster_api::ids::InfraEnvId;

/// BMCs of a rack: two of each vendor.
const MACHINES: u32 = 24;

/// Parallel discoveries; the service must keep the limit.
const PARALLEL: usize = 6;

/// Time limit of a whole rack: its power calls alone keep 10 s between each other, and a slow machine 40 s.
const LIMIT: Duration = Duration::from_secs(900);

/// Time limit of steps without a machine.
const SOON: Duration = Duration::from_secs(60);

/// Time in which a stopped service is observed.
const QUIET: Duration = Duration::from_secs(10);

/// A service on this computer's loopback, where the lab's BMCs are.
fn service() -> Service {
    Settings::on_address("127.0.0.1")
        .live_image(&live_image())
        .argument("--bmc-networks=127.0.0.0/8")
        .argument(&format!("--bmc-parallel={PARALLEL}"))
        .start()
}

fn rack(service: &Service) -> (InfraEnvId, Rack) {
    let infra_env = service.client().create_infra_env("rack").unwrap().id;
    (
        infra_env,
        Rack::of(service, infra_env, MACHINES, Reading::Beginning),
    )
}

#[test]
fn a_rack_becomes_hosts_by_one_import_whatever_half_of_its_bmcs_do() {
    let service = service();
    let (infra_env, rack) = rack(&service);
    let (good, troubled) = rack.units.split_at(12);
    let lines = good.iter().map(Unit::line).chain(troubled.iter().map(spoil));
    import(&service, infra_env, &lines.collect::<Vec<_>>());

    let comes = |unit: &&Unit| {
        let fault = fault_of(unit);
        matches!(
            fault,
            Trouble::None | Trouble::Errors | Trouble::SlowPower | Trouble::Restarts
        )
    };
    for unit in rack.units.iter().filter(comes) {
        let found = await_bmc(&service, infra_env, unit, "discovered and clean", |bmc| {
            bmc.phase == BmcPhase::Discovered && !bmc.medium_inserted
        });
        assert_eq!(found.host_id, Some(unit.host()), "{}", unit.name);
        assert_eq!(found.differences, [], "{}", unit.name);
        assert!(found.image.bytes >= 1 << 20, "{}: {:?}", unit.name, found.image);
    }
    for unit in troubled {
        is_told(&service, infra_env, unit);
    }

    let stuck = troubled.iter().filter(|unit| {
        let fault = fault_of(unit);
        matches!(fault, Trouble::Busy | Trouble::Endless)
    });
    for unit in stuck {
        // A user has reset the BMC, whose task would delay the eject, too.
        unit.bmc.change(|quirks| quirks.tasks = None);
        stop(&service, &[&unit.name]);
        await_bmc(&service, infra_env, unit, "stopped and clean", |bmc| {
            bmc.phase == BmcPhase::Stopped && !bmc.medium_inserted
        });
    }
    assert_all_is_left_clean(&rack);
    power_is_shown(&service, &good[0]);
    let most = rack.most_at_once();
    assert!((2..=PARALLEL).contains(&most), "{most} at once");
    let hosts = service.client().hosts(infra_env).unwrap();
    assert_eq!(hosts.len(), rack.units.iter().filter(comes).count());
    println!("at most {most} of {MACHINES} BMCs at once");
}

/// The power state that a BMC reported is shown with its host.
#[track_caller]
fn power_is_shown(service: &Service, unit: &Unit) {
    let (host, url) = (unit.host().to_string(), service.client().base());
    let typed = |words: &[&str]| service.muster(&[&["host"], words, &["--url", url]].concat());
    assert!(!typed(&["show", &host]).contains("\npower"), "nobody has asked");
    let told = typed(&["power", &host, "status"]);
    assert!(told.ends_with(" is On\n"), "{told}");
    let shown = typed(&["show", &host]);
    let line = shown.lines().find(|line| line.starts_with("power "));
    assert!(line.is_some_and(|line| line.contains("On at 20")), "{shown}");
}

#[test]
fn a_rack_that_is_stopped_in_the_middle_goes_no_further() {
    let service = service();
    let (infra_env, rack) = rack(&service);
    rack.import(&service);
    await_condition("some to be discovered and others to wait", LIMIT, || {
        let all = service
            .client()
            .bmcs(infra_env)
            .map_err(|error| error.to_string())?;
        let count = |phase| all.iter().filter(|bmc| bmc.phase == phase).count();
        let phases = [
            BmcPhase::Waiting,
            BmcPhase::Inserting,
            BmcPhase::Booting,
            BmcPhase::Discovered,
        ]
        .map(count);
        let [waiting, inserting, booting, discovered] = phases;
        if waiting > 0 && inserting + booting > 0 && discovered > 0 {
            Ok(())
        } else {
            Err(format!("waiting, inserting, booting, discovered: {phases:?}"))
        }
    });
    stop(&service, &["--all", "--infra-env", &infra_env.to_string()]);
    let ended = await_condition("all to be at rest", SOON * 3, || {
        let all = service
            .client()
            .bmcs(infra_env)
            .map_err(|error| error.to_string())?;
        let is_at_rest =
            |bmc: &Bmc| matches!(bmc.phase, BmcPhase::Stopped | BmcPhase::Discovered) && !bmc.medium_inserted;
        match all.iter().find(|bmc| !is_at_rest(bmc)) {
            Some(bmc) => Err(format!("{} is {}: {}", bmc.name, bmc.phase, bmc.reason)),
            None => Ok(all),
        }
    });
    let stopped = ended.iter().filter(|bmc| bmc.phase == BmcPhase::Stopped).count();
    assert!(
        stopped > 0 && stopped < ended.len(),
        "{stopped} of {}",
        ended.len()
    );
    assert_all_is_left_clean(&rack);
    let boots = || {
        rack.units
            .iter()
            .map(|unit| unit.machine.boots().len())
            .sum::<usize>()
    };
    let before = boots();
    rack.units.iter().for_each(|unit| unit.bmc.forget_requests());
    assert_throughout("nobody talking to a BMC", QUIET, || {
        let asked = rack.units.iter().find(|unit| !unit.bmc.requests().is_empty());
        match (asked, boots()) {
            (None, now) if now == before => Ok(()),
            (Some(unit), _) => Err(format!("{} is asked", unit.name)),
            (None, now) => Err(format!("{before} boots became {now}")),
        }
    });
}

/// A fault of a BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    WrongPassword,
    /// Internal errors, more in a row than one attempt tolerates.
    Errors,
    /// Power off that takes 40 s.
    SlowPower,
    /// A drive that another client uses.
    Busy,
    /// Tasks that never end.
    Endless,
    /// A BMC that restarts when the image is inserted.
    Restarts,
    /// The address of a cloud's metadata in place of the BMC's.
    Metadata,
}

/// Assigned by vendor, so that each fault is with BMCs that can have it; the first BMC of each vendor has none.
fn fault_of(unit: &Unit) -> Trouble {
    let (vendor, number) = unit.name.rsplit_once('-').unwrap();
    if number.parse::<u32>().unwrap() < MACHINES / 2 {
        return Trouble::None;
    }
    match vendor {
        "dell-idrac9" | "openbmc" => Trouble::WrongPassword,
        "dell-idrac9-old" | "fujitsu" => Trouble::Errors,
        "dell-idrac10" | "huawei" => Trouble::SlowPower,
        "hpe-ilo5" | "cisco" => Trouble::Busy,
        "hpe-ilo4" | "ami" => Trouble::Endless,
        "lenovo-xcc" => Trouble::Restarts,
        "supermicro-x11" => Trouble::Metadata,
        other => panic!("nothing is wrong with {other}"),
    }
}

/// Sets the fault; returns the import's line for the BMC.
fn spoil(unit: &Unit) -> String {
    match fault_of(unit) {
        Trouble::None => {}
        Trouble::WrongPassword => return unit.line().replace(",password", ",hunter2-wrong"),
        Trouble::Metadata => return line("https://169.254.169.254", &unit.name),
        Trouble::Errors => {
            unit.bmc.fail(Fault::status(500).at("GET", "").times(4));
            unit.bmc.fail(Fault::status(500).at("POST", "InsertMedia"));
            unit.bmc.fail(Fault::status(500).at("POST", "Reset"));
        }
        Trouble::SlowPower => unit.bmc.change(|quirks| {
            quirks.lag = Lag {
                off: Duration::from_secs(40),
                on: Duration::from_secs(2),
                shows: ShownPower::Transition,
            };
        }),
        Trouble::Busy => unit.bmc.fail(Fault::slot_busy().times(1_000_000)),
        Trouble::Endless => unit.bmc.change(|quirks| {
            quirks.tasks = Some(Tasks {
                end: TaskEnd::Never,
                power: false,
                ..Tasks::taking(Duration::from_secs(1))
            });
        }),
        Trouble::Restarts => {
            let away = FaultKind::Restart(Duration::from_secs(8));
            unit.bmc.fail(Fault::new(away).at("PATCH", "VirtualMedia"));
        }
    }
    unit.line()
}

/// Checks the report about a BMC with a fault.
#[track_caller]
fn is_told(service: &Service, infra_env: InfraEnvId, unit: &Unit) {
    let seen = |what, is: &dyn Fn(&Bmc) -> bool| await_bmc(service, infra_env, unit, what, is);
    let failed = |failure| move |bmc: &Bmc| bmc.failure == Some(failure);
    match fault_of(unit) {
        Trouble::WrongPassword => {
            let bmc = seen("refused", &failed(BmcFailure::Credentials));
            assert!(bmc.reason.contains("refuses the user"), "{}", bmc.reason);
            assert!(!bmc.reason.contains("hunter2"), "{}", bmc.reason);
            assert_eq!(unit.logins(), 1, "{}", unit.name);
            assert_eq!(unit.machine.boots(), [Booted::Disk], "{}", unit.name);
        }
        Trouble::Metadata => {
            let bmc = seen("refused", &failed(BmcFailure::Address));
            assert!(bmc.reason.contains("link-local"), "{}", bmc.reason);
            assert!(unit.bmc.requests().is_empty(), "{}", unit.name);
        }
        Trouble::Busy => {
            let is_tried_again = |bmc: &Bmc| bmc.phase == BmcPhase::Inserting && bmc.attempts > 0;
            let bmc = seen("tried again", &is_tried_again);
            assert!(bmc.reason.contains("it is tried again"), "{}", bmc.reason);
        }
        Trouble::Endless => {
            let bmc = seen("inserting", &|bmc| bmc.phase == BmcPhase::Inserting);
            assert_eq!(unit.bmc.image(), None, "{}", bmc.reason);
        }
        Trouble::None | Trouble::Errors | Trouble::SlowPower | Trouble::Restarts => {}
    }
}

/// Waits for the state of a unit's BMC.
#[track_caller]
fn await_bmc(
    service: &Service,
    infra_env: InfraEnvId,
    unit: &Unit,
    what: &str,
    is: impl Fn(&Bmc) -> bool,
) -> Bmc {
    await_condition(&format!("{} to be {what}", unit.name), LIMIT, || {
        let all = service
            .client()
            .bmcs(infra_env)
            .map_err(|error| error.to_string())?;
        let found = all.into_iter().find(|bmc| bmc.name == unit.name);
        let bmc = found.ok_or("it is not listed")?;
        if is(&bmc) {
            Ok(bmc)
        } else {
            Err(format!(
                "{} ({:?}), {} attempts: {}",
                bmc.phase, bmc.failure, bmc.attempts, bmc.reason
            ))
        }
    })
}

/// `muster bmc stop`, as a user types it.
#[track_caller]
fn stop(service: &Service, bmcs: &[&str]) {
    let command = [&["bmc", "stop"], bmcs, &["--url", service.client().base()]].concat();
    service.muster(&command);
}

/// No session is open, and no drive has an image.
#[track_caller]
fn assert_all_is_left_clean(rack: &Rack) {
    await_condition("all sessions to be ended", SOON, || {
        let open = rack.units.iter().filter(|unit| unit.bmc.sessions() > 0);
        let open: Vec<&str> = open.map(|unit| unit.name.as_str()).collect();
        if open.is_empty() {
            Ok(())
        } else {
            Err(open.join(" "))
        }
    });
    for unit in &rack.units {
        assert_eq!(unit.bmc.image(), None, "{}", unit.name);
    }
}
