//! Power requests of users.

use std::sync::Arc;
use std::time::Duration;

use muster_api::bmc::{
    BmcFailure, BmcPhase, BmcPowerAction, BmcPowerOutcome, BmcPowerParams, BmcUpdateParams,
};
use muster_api::ids::BmcId;
use muster_bmc_driver::Settings;
use muster_bmc_emulator::machine::Machine as _;
use muster_bmc_emulator::quirks::{Lag, ShownPower};
use muster_bmc_emulator::{Booted, Quirks};
use muster_core::record::{Bmc, HostState, PowerRequest};

use crate::others::Metal3;
use crate::rack::Unit;
use crate::returns::put;
use crate::service::{Service, limits, settings};

const OFF: BmcPowerAction = BmcPowerAction::Off;
const ON: BmcPowerAction = BmcPowerAction::On;
const STATUS: BmcPowerAction = BmcPowerAction::Status;

/// A machine that is not to be discovered.
async fn at_rest(service: &Service, name: &str, number: u8, quirks: Quirks) -> (Unit, Bmc) {
    let unit = Unit::new(name, number, quirks);
    let mut params = unit.params();
    params.discover = Some(false);
    let bmc = service.add(vec![params]).await.remove(0);
    (unit, bmc)
}

async fn ask(service: &Service, id: BmcId, action: BmcPowerAction, force: bool) -> Result<Bmc, String> {
    let params = BmcPowerParams { action, force };
    let asked = service
        .operations
        .bmcs
        .power(service.infra_env_id, id, params)
        .await;
    asked.map_err(|error| error.to_string())
}

async fn ended(service: &Service, id: BmcId) -> (Bmc, PowerRequest) {
    let bmc = service
        .await_bmc(id, "at the end of its request", |bmc| {
            bmc.power.request.is_some() && bmc.power.pending().is_none()
        })
        .await;
    let request = bmc.power.request.clone().unwrap();
    (bmc, request)
}

/// Sends a request, and waits for its outcome.
async fn done(service: &Service, id: BmcId, action: BmcPowerAction, force: bool) -> (Bmc, PowerRequest) {
    ask(service, id, action, force).await.unwrap();
    ended(service, id).await
}

fn state(bmc: &Bmc) -> &str {
    bmc.power.seen.as_ref().map_or("", |seen| seen.state.as_str())
}

fn kinds(unit: &Unit) -> Vec<String> {
    let sent = unit.bmc.requests().into_iter();
    let resets = sent.filter(|request| request.is("POST", "ComputerSystem.Reset"));
    resets
        .filter_map(|request| Some(request.body?["ResetType"].as_str()?.to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_of_all_vendors_are_switched_and_their_state_is_told() {
    let service = Service::start().await;
    for ((name, quirks), number) in Quirks::vendors().into_iter().zip(80..) {
        let (unit, bmc) = at_rest(&service, name, number, quirks).await;
        assert_eq!((bmc.power.pending(), unit.logins()), (None, 0), "nobody asked");
        let (bmc, status) = done(&service, bmc.id, STATUS, false).await;
        assert_eq!(
            (status.outcome, state(&bmc)),
            (BmcPowerOutcome::Done, "On"),
            "{name}: {}",
            status.reason
        );
        let (bmc, off) = done(&service, bmc.id, OFF, true).await;
        assert_eq!(
            (off.outcome, state(&bmc)),
            (BmcPowerOutcome::Done, "Off"),
            "{name}: {}",
            off.reason
        );
        assert!(!unit.machine.is_on(), "{name}");
        let (bmc, on) = done(&service, bmc.id, ON, false).await;
        assert_eq!(
            (on.outcome, state(&bmc)),
            (BmcPowerOutcome::Done, "On"),
            "{name}: {}",
            on.reason
        );
        assert_eq!(unit.machine.boots(), [Booted::Disk, Booted::Disk], "{name}");
        assert_eq!(
            (bmc.stage.phase(), unit.bmc.sessions()),
            (BmcPhase::Stopped, 0),
            "{name}"
        );
    }
    let asked = service.events("muster_bmc_power_asked").await.len();
    let switched = service.events("muster_bmc_power_switched").await.len();
    assert_eq!(
        (asked, switched),
        (2 * Quirks::vendors().len(), 2 * Quirks::vendors().len())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_system_that_does_not_shut_down_stays_on_unless_it_is_forced() {
    let mut short = settings();
    short.limits.shutdown = Duration::from_millis(300);
    let service = Service::start_with(short, limits()).await;
    let (unit, bmc) = at_rest(&service, "stubborn", 1, Quirks::default()).await;
    unit.machine.ignore_power_button();
    let (bmc, off) = done(&service, bmc.id, OFF, false).await;
    assert_eq!((off.outcome, state(&bmc)), (BmcPowerOutcome::Failed, "On"));
    assert!(
        off.reason.contains("with force its power is cut"),
        "{}",
        off.reason
    );
    assert_eq!(service.events("muster_bmc_power_failed").await.len(), 1);
    let (bmc, reset) = done(&service, bmc.id, BmcPowerAction::Reset, false).await;
    assert_eq!((reset.outcome, state(&bmc)), (BmcPowerOutcome::Failed, "On"));
    let (bmc, reset) = done(&service, bmc.id, BmcPowerAction::Reset, true).await;
    assert_eq!(
        (reset.outcome, state(&bmc)),
        (BmcPowerOutcome::Done, "On"),
        "{}",
        reset.reason
    );
    let graceful = "GracefulShutdown";
    assert_eq!(kinds(&unit), [graceful, graceful, graceful, "ForceOff", "On"]);
    assert_eq!((reset.id, bmc.power.refused), (3, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_discovered_or_installed_is_switched_by_force_alone() {
    let service = Service::start().await;
    let mut unit = Unit::new("busy", 2, Quirks::default());
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    let refused = ask(&service, bmc.id, OFF, false).await.unwrap_err();
    assert!(
        refused.contains("is being discovered (waiting-for-agent)"),
        "{refused}"
    );
    let (seen, _) = done(&service, bmc.id, STATUS, false).await;
    assert_eq!(
        (state(&seen), seen.stage.phase()),
        ("On", BmcPhase::WaitingForAgent)
    );
    done(&service, bmc.id, OFF, true).await;
    assert!(!unit.machine.is_on());
    service
        .operations
        .bmcs
        .stop(service.infra_env_id, bmc.id)
        .await
        .unwrap();

    unit.boots_an_agent(&service.operations, service.infra_env_id);
    service
        .operations
        .bmcs
        .discover(service.infra_env_id, bmc.id)
        .await
        .unwrap();
    service.await_phase(bmc.id, BmcPhase::Discovered).await;
    service.await_clean(bmc.id).await;
    put(&service, &unit, |host| host.state = HostState::Installing).await;
    let refused = ask(&service, bmc.id, OFF, false).await.unwrap_err();
    assert!(refused.contains("which is installing"), "{refused}");
    let (bmc, off) = done(&service, bmc.id, OFF, true).await;
    assert_eq!(
        (off.outcome, state(&bmc)),
        (BmcPowerOutcome::Done, "Off"),
        "{}",
        off.reason
    );
    let events = service.events("muster_bmc_power_switched").await;
    assert!(
        events.iter().any(|event| event.host_id == Some(unit.host_id())),
        "{events:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_is_refused_is_not_tried_again() {
    let service = Service::start().await;
    let unit = Unit::new("locked", 3, Quirks::default());
    let mut params = unit.params();
    (params.discover, params.password) = (Some(false), "hunter2-wrong".into());
    let bmc = service.add(vec![params]).await.remove(0);
    let (bmc, off) = done(&service, bmc.id, OFF, true).await;
    assert_eq!(
        (off.outcome, bmc.power.refused),
        (BmcPowerOutcome::Failed, Some(BmcFailure::Credentials))
    );
    assert!(
        off.reason.contains("refuses the user") && !off.reason.contains("hunter2"),
        "{}",
        off.reason
    );
    // Also in a process that has not tried the credentials.
    let service = service.start_again(settings(), limits()).await;
    for action in [OFF, STATUS] {
        let refused = ask(&service, bmc.id, action, true).await.unwrap_err();
        assert!(refused.contains("the last login was refused"), "{refused}");
    }
    let bmcs = &service.operations.bmcs;
    let refused = bmcs.discover(service.infra_env_id, bmc.id).await.unwrap_err();
    assert!(refused.to_string().contains("other credentials"), "{refused}");
    assert_eq!(unit.logins(), 1);
    let right = BmcUpdateParams {
        password: Some("password".into()),
        ..BmcUpdateParams::default()
    };
    bmcs.update(service.infra_env_id, bmc.id, &right).await.unwrap();
    let (bmc, on) = done(&service, bmc.id, ON, false).await;
    assert_eq!(
        (on.outcome, state(&bmc)),
        (BmcPowerOutcome::Done, "On"),
        "{}",
        on.reason
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_at_a_time_ends_by_its_deadline_and_none_is_done_twice() {
    let slow = || Quirks {
        lag: Lag {
            on: Duration::from_millis(1500),
            off: Duration::from_secs(5),
            shows: ShownPower::Before,
        },
        ..Quirks::default()
    };
    let service = Service::start().await;
    let (unit, bmc) = at_rest(&service, "slow", 4, slow()).await;
    ask(&service, bmc.id, BmcPowerAction::Reset, true).await.unwrap();
    let refused = ask(&service, bmc.id, ON, true).await.unwrap_err();
    assert!(refused.contains("switched already (reset)"), "{refused}");
    let bmcs = &service.operations.bmcs;
    let refused = bmcs.discover(service.infra_env_id, bmc.id).await.unwrap_err();
    assert!(
        refused.to_string().contains("is switching its machine"),
        "{refused}"
    );
    let told = ask(&service, bmc.id, STATUS, false).await.unwrap();
    assert_eq!(
        told.power.request.map(|request| request.id),
        Some(1),
        "the one that is under way"
    );
    service
        .await_it("asked to shut down", async || {
            (!kinds(&unit).is_empty()).then_some(())
        })
        .await;
    // The service ends in the middle of the request, when the machine is off.
    let service = service.start_again(settings(), limits()).await;
    let (bmc, reset) = ended(&service, bmc.id).await;
    assert_eq!(reset.outcome, BmcPowerOutcome::Failed);
    assert!(reset.reason.contains("was interrupted"), "{}", reset.reason);
    assert_eq!((state(&bmc), unit.machine.is_on()), ("On", true));

    let mut short = limits();
    short.power = chrono::TimeDelta::milliseconds(700);
    let service = service.start_again(settings(), short).await;
    let (_, off) = done(&service, bmc.id, OFF, false).await;
    assert!(off.reason.contains("did not end in time"), "{}", off.reason);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_of_metal3_is_looked_at_and_not_switched() {
    let metal3 = Arc::new(Metal3::there());
    let settings = Settings {
        others: Some(metal3),
        ..settings()
    };
    let service = Service::start_with(settings, limits()).await;
    let (unit, bmc) = at_rest(&service, "shared", 5, Quirks::default()).await;
    let (bmc, off) = done(&service, bmc.id, OFF, true).await;
    assert_eq!((off.outcome, unit.logins()), (BmcPowerOutcome::Failed, 0));
    assert!(off.reason.contains("BareMetalHost lab/r1u7"), "{}", off.reason);
    let (bmc, status) = done(&service, bmc.id, STATUS, false).await;
    assert_eq!((status.outcome, state(&bmc)), (BmcPowerOutcome::Done, "On"));
}
