//! Requests for the power of the machines of BMCs.

use chrono::TimeDelta;
use muster_api::bmc::{BmcCreateParams, BmcFailure, BmcPowerAction, BmcPowerOutcome, BmcUpdateParams};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{
    BmcEvent, BmcRefused, PowerAsked, PowerDone, Problem, advance, create, disk_boot_failure, update, view,
};
use muster_core::record::{Bmc, BmcLimits, DeafTime, Host};
use muster_core::rules::facts::Deadlines;

use crate::world::World;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
}

fn bmc() -> Bmc {
    let params = BmcCreateParams {
        name: None,
        address: "h".into(),
        user_name: "root".into(),
        password: "secret".into(),
        certificate: None,
        system_id: None,
        boot: None,
        discover: Some(false),
    };
    create(params, InfraEnvId::random(), BmcId::random(), at(0)).unwrap()
}

fn asked(action: BmcPowerAction, force: bool, installation: Option<&str>) -> BmcEvent {
    BmcEvent::PowerAsked(PowerAsked {
        action,
        force,
        installation: installation.map(str::to_owned),
    })
}

fn ask(bmc: &Bmc, event: BmcEvent, seconds: i64) -> Result<Option<Bmc>, String> {
    match advance(bmc, event, &BmcLimits::default(), at(seconds)) {
        Ok(step) => Ok(step.map(|step| step.bmc)),
        Err(BmcRefused::NotNow(why)) => Err(why),
        Err(other) => panic!("{other}"),
    }
}

fn done(id: i64, state: &str, problem: Option<BmcFailure>) -> BmcEvent {
    BmcEvent::PowerDone(PowerDone {
        id,
        state: Some(state.into()).filter(|state: &String| !state.is_empty()),
        certificate: Some("AA".into()),
        problem: problem.map(|failure| Problem {
            failure,
            reason: "the BMC says\nno".into(),
            passing: false,
        }),
    })
}

#[test]
fn a_request_is_pending_until_it_is_done_and_a_late_answer_ends_no_other() {
    let limits = BmcLimits::default();
    let first = ask(&bmc(), asked(BmcPowerAction::Off, false, None), 1)
        .unwrap()
        .unwrap();
    assert_eq!((first.run, first.power.pending().unwrap().id), (0, 1));
    assert_eq!(first.power.pending().unwrap().deadline, at(1) + limits.power);
    assert!(
        first.progress.due_at.is_none_or(|due| due > at(99)),
        "its discovery is not due"
    );
    assert!(
        ask(&first, asked(BmcPowerAction::On, true, None), 2)
            .unwrap_err()
            .contains("(off)")
    );
    assert_eq!(
        ask(&first, asked(BmcPowerAction::Status, false, None), 2),
        Ok(None)
    );
    assert_eq!(ask(&first, done(9, "Off", None), 3), Ok(None));
    let begun = ask(&first, BmcEvent::PowerBegun { id: 1 }, 3).unwrap().unwrap();
    let ended = ask(&begun, done(1, "Off", None), 4).unwrap().unwrap();
    let shown = view(&ended).power.unwrap();
    assert_eq!(shown.state.as_deref(), Some("Off"));
    assert_eq!(shown.request.unwrap().outcome, BmcPowerOutcome::Done);
    assert_eq!(
        ended.settings.certificate.fingerprint.as_deref(),
        Some("AA"),
        "the first contact"
    );
    assert_eq!(ask(&ended, done(1, "On", None), 5), Ok(None));
    // A request that is still open at its deadline blocks no other.
    let late = at(1) + limits.power;
    let again = advance(&first, asked(BmcPowerAction::On, false, None), &limits, late).unwrap();
    assert_eq!(again.unwrap().bmc.power.pending().unwrap().id, 2);
    // A status request is replaced by a switch.
    let look = ask(&bmc(), asked(BmcPowerAction::Status, false, None), 1)
        .unwrap()
        .unwrap();
    let switch = ask(&look, asked(BmcPowerAction::Off, false, None), 2)
        .unwrap()
        .unwrap();
    assert_eq!(ask(&switch, done(1, "On", None), 3), Ok(None));
}

#[test]
fn a_machine_that_is_discovered_or_installed_is_switched_by_force_alone() {
    let off = |force, why| asked(BmcPowerAction::Off, force, why);
    let why = ask(&bmc(), off(false, Some("it is host x, which is installing")), 1).unwrap_err();
    assert!(why.contains("which is installing: wait"), "{why}");
    assert!(ask(&bmc(), off(true, Some("x")), 1).unwrap().is_some());
    assert!(
        ask(&bmc(), asked(BmcPowerAction::Status, false, Some("x")), 1)
            .unwrap()
            .is_some()
    );
    let discovering = ask(&bmc(), BmcEvent::Discover, 1).unwrap().unwrap();
    let why = ask(&discovering, off(false, None), 2).unwrap_err();
    assert!(why.contains("is being discovered (waiting)"), "{why}");
    let forced = ask(&discovering, off(true, None), 2).unwrap().unwrap();
    assert_eq!(forced.stage, discovering.stage);
}

#[test]
fn refused_credentials_stop_everything_until_there_are_others() {
    let first = ask(&bmc(), asked(BmcPowerAction::Status, false, None), 1)
        .unwrap()
        .unwrap();
    let refused = ask(&first, done(1, "", Some(BmcFailure::Credentials)), 2)
        .unwrap()
        .unwrap();
    let reason = view(&refused).power.unwrap().request.unwrap().reason;
    assert!(
        reason.starts_with("the BMC says") && !reason.contains('\n'),
        "{reason}"
    );
    for event in [asked(BmcPowerAction::Status, true, None), BmcEvent::Discover] {
        assert!(ask(&refused, event, 3).unwrap_err().contains("refused"));
    }
    let waits = BmcEvent::HostWaits { since: at(9) };
    assert_eq!(ask(&refused, waits, 10), Ok(None));
    let params = BmcUpdateParams {
        password: Some("other".into()),
        ..BmcUpdateParams::default()
    };
    let right = update(&refused, &params, at(11)).unwrap().unwrap().bmc;
    assert!(ask(&right, BmcEvent::Discover, 12).unwrap().is_some());
    // Any other failure blocks no request.
    let failed = ask(&first, done(1, "On", Some(BmcFailure::Boot)), 2)
        .unwrap()
        .unwrap();
    assert!(ask(&failed, BmcEvent::Discover, 3).unwrap().is_some());
}

#[test]
fn a_host_that_came_up_from_the_image_is_booted_from_its_disk_once_and_when_nobody_else_is_at_it() {
    let boot = TimeDelta::minutes(40);
    let awaits = |since: i64| BmcEvent::HostAwaitsDisk { since: at(since) };
    assert_eq!(ask(&bmc(), awaits(1), 2), Ok(None), "it has no host");
    let mut found = bmc();
    found.host_id = Some(HostId::random());
    let discovering = ask(&found, BmcEvent::Discover, 1).unwrap().unwrap();
    assert_eq!(ask(&discovering, awaits(1), 2), Ok(None));
    let switched = ask(&found, asked(BmcPowerAction::Off, false, None), 1)
        .unwrap()
        .unwrap();
    assert_eq!(ask(&switched, awaits(1), 2), Ok(None));

    let step = advance(&found, awaits(5), &BmcLimits::default(), at(6))
        .unwrap()
        .unwrap();
    assert_eq!(step.events[0].host_id, found.host_id);
    let begun = step.bmc;
    let request = begun.power.pending().unwrap().clone();
    assert_eq!((request.action, request.from_disk), (BmcPowerAction::Reset, true));
    assert_eq!(ask(&begun, awaits(5), 7), Ok(None));
    let mut host = World::new().known_host_of_cluster();
    host.data.registered_at = at(5);
    let world = World::new();
    let facts = world.cluster_facts();
    let deadlines = facts.deadlines();
    let failure = |bmc: &Bmc, host: &Host, now: i64| disk_boot_failure(bmc, host, at(5), &deadlines, at(now));
    assert_eq!(failure(&begun, &host, 7), None);

    let no = ask(&begun, done(1, "On", Some(BmcFailure::Boot)), 8)
        .unwrap()
        .unwrap();
    assert!(failure(&no, &host, 9).unwrap().starts_with("the BMC says"));
    let ended = ask(&begun, done(1, "On", None), 8).unwrap().unwrap();
    assert_eq!(failure(&ended, &host, 9), None);
    assert!(
        failure(&ended, &host, 9 + boot.num_seconds()).is_some(),
        "it takes too long"
    );
    let outage = [DeafTime {
        from: at(20),
        to: at(90),
    }];
    let later = Deadlines {
        deaf: outage.as_slice().into(),
        ..deadlines.clone()
    };
    for (seconds, is_over) in [(8, false), (8 + 70, false), (9 + 70, true)] {
        let now = at(seconds + boot.num_seconds());
        let why = disk_boot_failure(&ended, &host, at(5), &later, now);
        assert_eq!(why.is_some(), is_over, "the service was down for 70 s: {seconds}");
    }
    assert_eq!(ask(&ended, awaits(5), 10), Ok(None), "once for each wait");
    host.data.registered_at = at(60);
    assert!(
        failure(&ended, &host, 61)
            .unwrap()
            .contains("did not come up from its disk")
    );
    assert!(ask(&ended, awaits(90), 91).unwrap().is_some(), "another wait");
    // A user's request serves no wait of the host.
    let by_user = ask(&found, asked(BmcPowerAction::Reset, true, None), 6)
        .unwrap()
        .unwrap();
    let by_user = ask(&by_user, done(1, "On", None), 7).unwrap().unwrap();
    assert!(ask(&by_user, awaits(5), 8).unwrap().is_some());

    let refused = ask(&begun, done(1, "", Some(BmcFailure::Credentials)), 8)
        .unwrap()
        .unwrap();
    assert_eq!(ask(&refused, awaits(20), 21), Ok(None));
    let why = disk_boot_failure(&refused, &host, at(20), &deadlines, at(21)).unwrap();
    assert!(why.contains("login was refused (credentials)"), "{why}");
}
