//! The discovery of machines through their BMCs, from phase to phase.

mod firmware;
mod power;
mod resources;

use chrono::TimeDelta;
use muster_api::bmc::{
    BmcBoot, BmcCertificate, BmcCertificateMode, BmcCreateParams, BmcFailure, BmcPhase, BmcUpdateParams,
};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{BmcEvent, BmcRefused, Problem, Seen, advance, create, update, view};
use muster_core::record::{Bmc, BmcLimits};
use proptest::collection::vec;
use proptest::prelude::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
}

fn params(address: &str) -> BmcCreateParams {
    BmcCreateParams {
        name: None,
        address: address.into(),
        user_name: "root".into(),
        password: "calvin-is-secret".into(),
        certificate: None,
        system_id: None,
        boot: None,
        discover: None,
    }
}

fn bmc(params: BmcCreateParams) -> Bmc {
    create(params, InfraEnvId::random(), BmcId::random(), at(0)).unwrap()
}

fn seen() -> Seen {
    Seen {
        certificate: Some("AA".into()),
        ..Seen::default()
    }
}

fn problem(failure: BmcFailure, passing: bool) -> Problem {
    Problem {
        failure,
        reason: "the BMC says\nno".into(),
        passing,
    }
}

fn found(runs_from_medium: bool) -> BmcEvent {
    BmcEvent::AgentSeen {
        host_id: HostId::random(),
        differences: Vec::new(),
        runs_from_medium,
    }
}

/// The BMC after an event that has a meaning in its phase.
fn after(bmc: &Bmc, event: BmcEvent, seconds: i64) -> Bmc {
    let step = advance(bmc, event.clone(), &BmcLimits::default(), at(seconds)).unwrap();
    step.unwrap_or_else(|| panic!("{event:?} in {:?}", bmc.stage)).bmc
}

fn inserted() -> BmcEvent {
    BmcEvent::Inserted {
        slot: "/redfish/v1/x".into(),
    }
}

fn booted(note: &str) -> BmcEvent {
    BmcEvent::Booted { note: note.into() }
}

fn checked(problem: Option<Problem>) -> BmcEvent {
    BmcEvent::Checked {
        seen: Box::new(seen()),
        problem,
    }
}

fn through(bmc: Bmc, events: Vec<BmcEvent>) -> Bmc {
    events
        .into_iter()
        .zip(1..)
        .fold(bmc, |bmc, (event, second)| after(&bmc, event, second))
}

#[test]
fn a_host_that_waits_for_a_boot_is_booted_once_for_each_wait() {
    let limits = BmcLimits::default();
    let waits = |since: i64| BmcEvent::HostWaits { since: at(since) };
    let boot = || vec![BmcEvent::Begun, checked(None), inserted(), booted("")];
    let unknown = through(bmc(params("h")), boot());
    assert_eq!(
        advance(&unknown, waits(9), &limits, at(9)),
        Ok(None),
        "no host was found yet"
    );
    let found = after(&unknown, found(false), 10);
    assert!(found.host_id.is_some());
    assert_eq!(
        advance(&found, waits(9), &limits, at(20)),
        Ok(None),
        "that wait is over"
    );

    let begun = advance(&found, waits(30), &limits, at(40)).unwrap().unwrap();
    assert_eq!(begun.events[0].host_id, found.host_id);
    let begun = begun.bmc;
    assert_eq!(
        (begun.stage.phase(), begun.run),
        (BmcPhase::Waiting, found.run + 1)
    );
    assert_eq!(
        advance(&begun, waits(30), &limits, at(41)),
        Ok(None),
        "it is under way"
    );
    // The host came back without a boot.
    let back = after(&begun, BmcEvent::HostBack, 42);
    assert_eq!(
        (back.stage.phase(), back.host_id),
        (BmcPhase::Discovered, found.host_id)
    );

    let failed = after(&begun, BmcEvent::Begun, 43);
    let failed = after(&failed, checked(Some(problem(BmcFailure::Media, false))), 44);
    assert_eq!(failed.host_id, found.host_id);
    assert_eq!(
        advance(&failed, waits(30), &limits, at(50)),
        Ok(None),
        "it was tried"
    );
    after(&failed, waits(60), 61);
    let refused = after(&begun, BmcEvent::Begun, 43);
    let refused = after(
        &refused,
        checked(Some(problem(BmcFailure::Credentials, false))),
        44,
    );
    assert_eq!(
        advance(&refused, waits(60), &limits, at(61)),
        Ok(None),
        "nobody looked at it"
    );
    // A user requests it: changes of the host do not end that.
    let asked = after(&failed, BmcEvent::Discover, 70);
    assert_eq!(advance(&asked, BmcEvent::HostBack, &limits, at(71)), Ok(None));
}

#[test]
fn a_machine_goes_through_all_phases_and_its_medium_is_taken_out() {
    let started = bmc(params("10.0.0.7"));
    assert_eq!(
        (started.name.as_str(), started.stage.phase()),
        ("10.0.0.7", BmcPhase::Waiting)
    );
    let waiting = through(
        started,
        vec![BmcEvent::Begun, checked(None), inserted(), booted("")],
    );
    assert_eq!(
        waiting.settings.certificate.fingerprint.as_deref(),
        Some("AA"),
        "pinned"
    );
    assert_eq!(waiting.progress.booted_at, Some(at(3)));
    let ended = after(&waiting, found(false), 10);
    assert_eq!(ended.stage.phase(), BmcPhase::Discovered);
    assert_eq!(ended.progress.due_at, Some(at(10)), "to take the medium out");
    let clean = after(&ended, BmcEvent::Cleaned, 11);
    assert_eq!((clean.progress.due_at, &clean.progress.leftover), (None, &None));
}

#[test]
fn a_medium_that_the_host_runs_from_stays_until_it_does_not() {
    let waiting = through(
        bmc(params("h")),
        vec![BmcEvent::Begun, checked(None), inserted(), booted("")],
    );
    let running = after(&waiting, found(true), 10);
    assert!(!running.progress.leftover.as_ref().unwrap().given_up);
    assert!(running.progress.due_at.unwrap() > at(10));
    let free = after(&running, BmcEvent::MediumFree, 20);
    assert_eq!(free.progress.due_at, Some(at(20)));
}

#[test]
fn a_medium_is_said_to_be_in_when_the_bmc_has_shown_it() {
    let is_in = |bmc: &Bmc| view(bmc).medium_inserted;
    let inserting = through(bmc(params("m")), vec![BmcEvent::Begun, checked(None)]);
    assert_eq!(inserting.stage.phase(), BmcPhase::Inserting);
    assert!(
        !is_in(&inserting),
        "an answer to the insert is no medium in the drive"
    );
    let again = after(
        &inserting,
        BmcEvent::StepFailed(problem(BmcFailure::Media, true)),
        11,
    );
    assert!(!is_in(&again));
    // No check has shown if it was inserted.
    let stopped = after(&inserting, BmcEvent::Stop, 11);
    assert!(is_in(&stopped) && stopped.cleans_up());
    assert!(!is_in(&after(&stopped, BmcEvent::Cleaned, 12)));
    let booting = after(&inserting, inserted(), 11);
    assert!(is_in(&booting));
    assert!(is_in(&after(&booting, booted(""), 12)));
}

#[test]
fn a_boot_override_that_the_bmc_does_not_show_is_told() {
    let booting = through(bmc(params("m")), vec![BmcEvent::Begun, checked(None), inserted()]);
    let dropped = "the BMC accepted the boot override and does not show it";
    let waiting = after(&booting, booted(dropped), 11);
    assert!(
        waiting.progress.reason.ends_with(&format!("; but {dropped}")),
        "{}",
        waiting.progress.reason
    );
    let looked = after(&waiting, BmcEvent::Looked { note: String::new() }, 12);
    assert!(
        looked.progress.reason.ends_with(dropped),
        "{}",
        looked.progress.reason
    );
}

#[test]
fn uefi_http_needs_no_slot() {
    let started = bmc(BmcCreateParams {
        boot: Some(BmcBoot::UefiHttp),
        ..params("h")
    });
    let booting = through(started, vec![BmcEvent::Begun, checked(None)]);
    assert_eq!(booting.stage.phase(), BmcPhase::Booting);
    assert!(
        booting.progress.leftover.is_some(),
        "the override is to be cleared"
    );
    assert!(!view(&booting).medium_inserted, "no drive holds it");
}

#[test]
fn refused_credentials_are_not_tried_again_until_they_are_given_anew() {
    let refused = problem(BmcFailure::Credentials, false);
    let failed = through(bmc(params("h")), vec![BmcEvent::Begun, checked(Some(refused))]);
    assert_eq!(failed.progress.due_at, None);
    let limits = BmcLimits::default();
    let again = advance(&failed, BmcEvent::Discover, &limits, at(5)).unwrap_err();
    assert!(
        matches!(&again, BmcRefused::NotNow(why) if why.contains("credentials")),
        "{again}"
    );
    let renamed = BmcUpdateParams {
        name: Some("rack 1".into()),
        ..BmcUpdateParams::default()
    };
    let renamed = update(&failed, &renamed, at(6)).unwrap().unwrap().bmc;
    assert_eq!(renamed.stage, failed.stage);
    // The same password, given again: the account was unlocked.
    let given = BmcUpdateParams {
        password: Some("calvin-is-secret".into()),
        ..BmcUpdateParams::default()
    };
    let given = update(&renamed, &given, at(7)).unwrap().unwrap().bmc;
    assert_eq!(given.stage.phase(), BmcPhase::Waiting);
    assert!(given.run > failed.run);
}

#[test]
fn a_changed_certificate_waits_until_it_is_accepted() {
    let pinned = bmc(BmcCreateParams {
        certificate: Some(BmcCertificate {
            mode: BmcCertificateMode::Pin,
            fingerprint: Some("ab".repeat(32)),
            bundle: None,
        }),
        ..params("h")
    });
    assert!(
        pinned
            .settings
            .certificate
            .fingerprint
            .as_deref()
            .unwrap()
            .starts_with("AB:AB:")
    );
    let changed = problem(BmcFailure::Certificate, false);
    let failed = through(pinned, vec![BmcEvent::Begun, checked(Some(changed))]);
    assert_eq!(failed.progress.certificate_shown.as_deref(), Some("AA"));
    advance(&failed, BmcEvent::Discover, &BmcLimits::default(), at(5)).unwrap_err();
    let accepted = BmcUpdateParams {
        certificate: Some(BmcCertificate {
            mode: BmcCertificateMode::Pin,
            fingerprint: Some("cd".repeat(32)),
            bundle: None,
        }),
        ..BmcUpdateParams::default()
    };
    let accepted = update(&failed, &accepted, at(6)).unwrap().unwrap().bmc;
    assert_eq!(accepted.stage.phase(), BmcPhase::Waiting);
}

#[test]
fn passing_problems_are_tried_again_until_the_deadline() {
    let mut checking = after(&bmc(params("h")), BmcEvent::Begun, 0);
    let deadline = checking.progress.deadline.unwrap();
    let mut attempts = 0;
    while checking.stage.phase() == BmcPhase::Checking {
        let due = checking.progress.due_at.unwrap();
        assert!(due < deadline);
        let troubled = BmcEvent::StepFailed(problem(BmcFailure::Unreachable, true));
        let step = advance(&checking, troubled, &BmcLimits::default(), due)
            .unwrap()
            .unwrap();
        checking = step.bmc;
        attempts += 1;
    }
    assert!((5..20).contains(&attempts), "{attempts}");
    let shown = view(&checking);
    assert_eq!(shown.failure, Some(BmcFailure::Unreachable));
    assert_eq!(shown.reason, "the BMC says\u{fffd}no");
}

#[test]
fn an_agent_that_never_speaks_is_told_with_what_was_read() {
    let mut waiting = through(
        bmc(params("h")),
        vec![BmcEvent::Begun, checked(None), inserted(), booted("")],
    );
    let late = waiting.progress.deadline.unwrap();
    let limits = BmcLimits::default();
    assert_eq!(
        advance(&waiting, BmcEvent::DeadlinePassed, &limits, at(9)),
        Ok(None)
    );
    for (requests, words) in [(0, "the image was not requested"), (3, "5 MiB of the image")] {
        waiting.image.requests = requests;
        waiting.image.bytes = 5 << 20;
        let failed = advance(&waiting, BmcEvent::DeadlinePassed, &limits, late)
            .unwrap()
            .unwrap();
        let shown = view(&failed.bmc);
        assert_eq!(shown.failure, Some(BmcFailure::NoAgent));
        assert!(shown.reason.contains(words), "{}", shown.reason);
        assert!(shown.reason.contains("within 60 minutes"), "{}", shown.reason);
        assert_eq!(failed.bmc.progress.due_at, Some(late), "the medium is taken out");
        assert_eq!(failed.events[0].name, "muster_bmc_discovery_failed");
    }
}

#[test]
fn a_medium_that_stays_is_told_once() {
    let stopped = through(
        bmc(params("h")),
        vec![BmcEvent::Begun, checked(None), BmcEvent::Stop],
    );
    assert!(stopped.cleans_up());
    let (mut left, mut told) = (stopped, 0);
    let mut now = at(10);
    while let Some(due) = left.progress.due_at {
        now = now.max(due);
        let event = BmcEvent::NotCleaned(problem(BmcFailure::Unreachable, true));
        let step = advance(&left, event, &BmcLimits::default(), now)
            .unwrap()
            .unwrap();
        left = step.bmc;
        told += step.events.len();
    }
    assert_eq!(told, 1);
    assert!(left.progress.leftover.unwrap().given_up);
}

#[test]
fn what_cannot_be_accepted_is_told_without_the_password() {
    let refuse = |params: BmcCreateParams| {
        create(params, InfraEnvId::random(), BmcId::random(), at(0))
            .unwrap_err()
            .to_string()
    };
    for address in [
        "",
        "ftp://h",
        "https://u@h",
        "https://h/x",
        "https://h?x",
        "h\\x",
        "https://",
    ] {
        assert!(refuse(params(address)).starts_with("address"), "{address}");
    }
    let told = refuse(BmcCreateParams {
        password: "calvin\nsecret".into(),
        ..params("h")
    });
    assert!(told.starts_with("password") && !told.contains("calvin"), "{told}");
    let told = refuse(BmcCreateParams {
        certificate: Some(BmcCertificate {
            mode: BmcCertificateMode::System,
            fingerprint: Some("ab".repeat(32)),
            bundle: None,
        }),
        ..params("h")
    });
    assert!(told.starts_with("certificate.fingerprint"), "{told}");
    assert!(!format!("{:?} {:?}", params("h"), bmc(params("h"))).contains("calvin"));
    assert_eq!(
        bmc(params("[FD00::1]:8443")).settings.address,
        "https://[fd00::1]:8443"
    );
    assert_eq!(
        bmc(params("HTTP://Bmc.Example")).settings.address,
        "http://bmc.example"
    );
}

#[test]
fn an_address_changes_only_while_nothing_is_left_there() {
    let inserting = through(bmc(params("h")), vec![BmcEvent::Begun, checked(None)]);
    let moved = BmcUpdateParams {
        address: Some("other".into()),
        ..BmcUpdateParams::default()
    };
    assert!(matches!(
        update(&inserting, &moved, at(5)),
        Err(BmcRefused::NotNow(_))
    ));
    let stopped = after(&inserting, BmcEvent::Stop, 6);
    assert!(matches!(
        update(&stopped, &moved, at(7)),
        Err(BmcRefused::NotNow(_))
    ));
    let clean = after(&stopped, BmcEvent::Cleaned, 8);
    let moved = update(&clean, &moved, at(9)).unwrap().unwrap().bmc;
    assert_eq!(moved.settings.address, "https://other");
    assert_eq!(moved.stage.phase(), BmcPhase::Stopped);
}

fn failure() -> impl Strategy<Value = BmcFailure> {
    prop_oneof![
        Just(BmcFailure::Credentials),
        Just(BmcFailure::Certificate),
        Just(BmcFailure::Unreachable),
        Just(BmcFailure::Media),
        Just(BmcFailure::InUse),
    ]
}

fn any_problem() -> impl Strategy<Value = Problem> {
    (failure(), any::<bool>()).prop_map(|(failure, passing)| problem(failure, passing))
}

fn event() -> impl Strategy<Value = BmcEvent> {
    prop_oneof![
        1 => Just(BmcEvent::Discover),
        1 => Just(BmcEvent::Stop),
        4 => Just(BmcEvent::Begun),
        4 => Just(checked(None)),
        1 => any_problem().prop_map(|problem| checked(Some(problem))),
        4 => Just(inserted()),
        4 => Just(booted("")),
        1 => any_problem().prop_map(BmcEvent::StepFailed),
        1 => Just(BmcEvent::Looked { note: String::new() }),
        2 => any::<bool>().prop_map(found),
        1 => Just(BmcEvent::MediumFree),
        1 => Just(BmcEvent::Cleaned),
        1 => any_problem().prop_map(BmcEvent::NotCleaned),
        1 => Just(BmcEvent::DeadlinePassed),
    ]
}

/// Invariants of every BMC.
fn is_legal(bmc: &Bmc, was: &Bmc) {
    let progress = &bmc.progress;
    assert_eq!(
        bmc.stage.is_active(),
        progress.deadline.is_some(),
        "every wait ends: {bmc:?}"
    );
    if bmc.stage.is_active() {
        assert!(progress.due_at.is_some(), "somebody looks after it: {bmc:?}");
        assert!(progress.due_at <= progress.deadline, "before it ends: {bmc:?}");
    }
    match (&progress.leftover, progress.due_at) {
        (None, Some(_)) => assert!(bmc.stage.is_active(), "nothing is to be done: {bmc:?}"),
        (Some(left), due) if !bmc.stage.is_active() => {
            assert_eq!(due.is_none(), left.given_up, "taken out, or given up: {bmc:?}");
        }
        _ => {}
    }
    if matches!(bmc.stage.phase(), BmcPhase::Booting | BmcPhase::WaitingForAgent) {
        assert!(
            progress.leftover.is_some() && progress.booted_at.is_some(),
            "{bmc:?}"
        );
    }
    let refused = |bmc: &Bmc| {
        let failure = view(bmc).failure;
        matches!(failure, Some(BmcFailure::Credentials | BmcFailure::Certificate))
    };
    assert!(
        !refused(was) || bmc.stage == was.stage,
        "nothing is tried again: {was:?} {bmc:?}"
    );
    assert!(bmc.run >= was.run && !progress.reason.is_empty() && !progress.reason.contains('\n'));
}

proptest! {
    #[test]
    fn whatever_happens_every_wait_ends_and_nothing_stays_in_a_bmc_unseen(
        events in vec((event(), 0i64..2000), 1..40), http in any::<bool>(),
    ) {
        let mut now = at(0);
        let mut one = bmc(BmcCreateParams { boot: http.then_some(BmcBoot::UefiHttp), ..params("h") });
        is_legal(&one, &one);
        for (event, passed) in events {
            now += TimeDelta::seconds(passed);
            if let Ok(Some(step)) = advance(&one, event, &BmcLimits::default(), now) {
                is_legal(&step.bmc, &one);
                one = step.bmc;
            }
        }
    }
}
