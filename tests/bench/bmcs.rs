//! Machines that are discovered through their BMCs: 200 by one import, with the time to the last host, and the cost for the service.
//! BMCs and machines are simulated in this process.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use muster_api::bmc::{Bmc, BmcPhase};
use muster_api::ids::InfraEnvId;
use muster_tests::artifacts::live_image;
use muster_tests::bmc::{Rack, Reading};
use muster_tests::condition::await_every;
use muster_tests::service::{Service, Settings};

use crate::table::{self, row};
use crate::usage::{cpu_seconds, resident_mb, resident_while};

const BMCS: u32 = 200;
/// Far above the expected duration.
const LIMIT: Duration = Duration::from_secs(1800);
/// Interval between two lists of all BMCs, which load the service.
const LOOK: Duration = Duration::from_secs(1);
/// Pause after which unused memory has been released.
const REST: Duration = Duration::from_secs(30);

/// One configuration of the discovery.
struct Way {
    name: &'static str,
    parallel: usize,
    reading: Reading,
}

const WAYS: [Way; 3] = [
    Way {
        name: "16 at once (default)",
        parallel: 16,
        reading: Reading::Beginning,
    },
    Way {
        name: "64 at once",
        parallel: 64,
        reading: Reading::Beginning,
    },
    Way {
        name: "64, whole image read",
        parallel: 64,
        reading: Reading::Whole,
    },
];

struct Figures {
    discovered: f64,
    clean: f64,
    cpu: f64,
    at_once: usize,
    requests: usize,
    image_mb: f64,
    /// MB before, at most, and after a pause.
    memory: [f64; 3],
}

/// Prints one column a configuration.
pub fn measure() -> Result<()> {
    let columns = WAYS.iter().map(discover).collect::<Result<Vec<Figures>>>()?;
    let mut heading = row([""]);
    heading.extend(WAYS.iter().map(|way| way.name.to_owned()));
    let mut rows = vec![heading];
    let mut add = |name: &str, cell: &dyn Fn(&Figures) -> String| {
        rows.push([vec![name.to_owned()], columns.iter().map(cell).collect()].concat());
    };
    add("from the import to the last host, s", &|one| {
        format!("{:.0}", one.discovered)
    });
    add("to the last image taken out, s", &|one| {
        format!("{:.0}", one.clean)
    });
    add("BMCs at once at most", &|one| one.at_once.to_string());
    add("requests to BMCs", &|one| one.requests.to_string());
    add("read of the image, MB", &|one| format!("{:.0}", one.image_mb));
    add("CPU s of the service", &|one| format!("{:.1}", one.cpu));
    add("  of that for each BMC, ms", &|one| {
        format!("{:.0}", one.cpu * 1e3 / f64::from(BMCS))
    });
    add("memory before, MB", &|one| format!("{:.0}", one.memory[0]));
    add("  at most", &|one| format!("{:.0}", one.memory[1]));
    add("  half a minute later", &|one| format!("{:.0}", one.memory[2]));
    table::print(
        &format!("{BMCS} machines by one import, behind BMCs of 12 kinds over TLS, all on before"),
        &rows,
    );
    Ok(())
}

fn discover(way: &Way) -> Result<Figures> {
    let service = Settings::on_address("127.0.0.1")
        .live_image(&live_image())
        .argument("--bmc-networks=127.0.0.0/8")
        .argument(&format!("--bmc-parallel={}", way.parallel))
        .start();
    let infra_env = service.client().create_infra_env("rack")?.id;
    let rack = Rack::of(&service, infra_env, BMCS, way.reading);
    // Memory for the first use of each part is not counted for the 200 machines.
    std::thread::sleep(LOOK);
    let (before, cpu) = (resident_mb(service.id()), cpu_seconds(service.id()));
    let began = Instant::now();
    let (memory, (discovered, all)) = resident_while(service.id(), || {
        rack.import(&service);
        await_all(&service, infra_env, "discovered", |bmc| {
            bmc.phase == BmcPhase::Discovered
        });
        let discovered = began.elapsed().as_secs_f64();
        let all = await_all(&service, infra_env, "clean", |bmc| !bmc.medium_inserted);
        (discovered, all)
    });
    let clean = began.elapsed().as_secs_f64();
    let cpu = cpu_seconds(service.id()) - cpu;
    for unit in &rack.units {
        let bmc = all.iter().find(|bmc| bmc.name == unit.name);
        ensure!(
            bmc.is_some_and(|bmc| bmc.host_id == Some(unit.host())),
            "{} is another host: {bmc:?}",
            unit.name
        );
        ensure!(unit.bmc.image().is_none(), "{} still has the image", unit.name);
    }
    std::thread::sleep(REST);
    let sessions: usize = rack.units.iter().map(|unit| unit.bmc.sessions()).sum();
    ensure!(sessions == 0, "{sessions} sessions are left");
    let at_once = rack.most_at_once();
    ensure!(at_once <= way.parallel, "{at_once} BMCs at once");
    #[expect(clippy::cast_precision_loss, reason = "far fewer bytes than 2^52")]
    let image_mb = all.iter().map(|bmc| bmc.image.bytes).sum::<i64>() as f64 / 1e6;
    Ok(Figures {
        discovered,
        clean,
        cpu,
        at_once,
        requests: rack.units.iter().map(|unit| unit.bmc.requests().len()).sum(),
        image_mb,
        memory: [before, memory.most, resident_mb(service.id())],
    })
}

/// Waits until all BMCs fit.
///
/// # Panics
/// If one fails, or they take too long.
#[track_caller]
fn await_all(service: &Service, infra_env: InfraEnvId, what: &str, fits: impl Fn(&Bmc) -> bool) -> Vec<Bmc> {
    await_every(LOOK, &format!("{BMCS} BMCs to be {what}"), LIMIT, || {
        let all = service
            .client()
            .bmcs(infra_env)
            .map_err(|error| error.to_string())?;
        let lost = all
            .iter()
            .find(|bmc| matches!(bmc.phase, BmcPhase::Failed | BmcPhase::Stopped));
        assert!(lost.is_none(), "one is lost: {lost:#?}");
        let waiting = all.iter().filter(|bmc| !fits(bmc)).count();
        match all.iter().find(|bmc| !fits(bmc)) {
            None => Ok(all),
            Some(bmc) => Err(format!(
                "{waiting} are not, e.g. {} is {}: {}",
                bmc.name, bmc.phase, bmc.reason
            )),
        }
    })
}
