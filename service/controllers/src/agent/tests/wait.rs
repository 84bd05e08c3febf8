//! Waits of Agents: every state either ends, belongs to the pool, or is a wait with advice.

use chrono::TimeDelta;
use muster_api::host::HostStage;
use muster_api::time::Timestamp;
use muster_controller::conditions::Synced;
use muster_controller::waits::{Until, Wait};
use muster_core::lifecycle::host::deadline::end_of_wait;
use muster_core::record::{BmcBoots, DeafTime, Host, HostState, NotBooted, Progress};
use muster_core::rules::facts::Deadlines;
use muster_core::rules::limits::{USUAL_SILENCE, WaitLimits};

use super::{at, host};
use crate::agent::status::wait::of_host;
use crate::join::awaited::Awaited;

static LIMITS: WaitLimits = WaitLimits::new(USUAL_SILENCE, Vec::new());

/// The end of the host's wait, if the service received nothing in these times.
fn end(host: &Host, deaf: &[DeafTime]) -> Option<Timestamp> {
    let deadlines = Deadlines {
        last_seen: None,
        listening_since: None,
        deaf: deaf.into(),
        limits: &LIMITS,
    };
    end_of_wait(host, &deadlines)
}

fn wait_of(host: &Host) -> Option<Wait> {
    of_host(host, true, &Synced::Ok(None), None, None, (None, end(host, &[])))
}

fn wait(state: HostState) -> Option<Wait> {
    wait_of(&host(state))
}

fn at_stage(stage: HostStage, info: &str, awaited: Option<&Awaited>, deaf: &[DeafTime]) -> Wait {
    let mut host = host(HostState::InstallingInProgress);
    host.data.progress = Some(Progress {
        stage,
        percentage: 55,
        info: info.into(),
        stage_started_at: at(60),
        stage_updated_at: at(120),
    });
    let end = end(&host, deaf);
    of_host(&host, true, &Synced::Ok(None), None, awaited, (None, end)).unwrap()
}

#[test]
fn states_that_end_or_belong_to_the_pool_wait_for_nothing() {
    for state in [
        HostState::KnownUnbound,
        HostState::InsufficientUnbound { failed: vec![] },
        HostState::DisconnectedUnbound,
        HostState::DiscoveringUnbound,
        HostState::Discovering,
        HostState::AddedToExistingCluster,
        HostState::Error,
        HostState::Cancelled,
    ] {
        assert_eq!(wait(state.clone()), None, "{state:?}");
    }
}

#[test]
fn states_that_only_a_user_ends_say_what_to_do() {
    for state in [
        HostState::Insufficient { failed: vec![] },
        HostState::PendingForInput { failed: vec![] },
        HostState::Disconnected,
        HostState::InstallingPendingUserAction {
            why: NotBooted::TooSlow,
        },
        HostState::ResettingPendingUserAction,
        HostState::UnbindingPendingUserAction,
    ] {
        let wait = wait(state.clone()).unwrap();
        assert!(wait.needs_user && !wait.todo.is_empty(), "{state:?}");
        assert!(
            wait.what.contains("reason why") || !wait.what.is_empty(),
            "{state:?}"
        );
    }
}

#[test]
fn a_host_that_its_bmc_boots_needs_nobody() {
    for state in [
        HostState::ResettingPendingUserAction,
        HostState::UnbindingPendingUserAction,
        HostState::InstallingPendingUserAction {
            why: NotBooted::DiscoveryImage,
        },
    ] {
        let mut host = host(state.clone());
        for (failure, needs_user) in [(None, false), (Some("no drive".to_owned()), true)] {
            host.data.bmc_boot = Some(BmcBoots {
                bmc: "r1u7".into(),
                failure,
            });
            let wait = wait_of(&host).unwrap();
            assert_eq!(wait.needs_user, needs_user, "{state:?}: {wait:?}");
        }
    }
}

#[test]
fn states_between_two_reports_are_waits() {
    for state in [
        HostState::Binding,
        HostState::Unbinding,
        HostState::Known,
        HostState::Installing,
        HostState::Reclaiming,
        HostState::ReclaimingRebooting,
    ] {
        let wait = wait(state.clone()).unwrap();
        assert_eq!((wait.since, wait.needs_user), (at(0), false), "{state:?}");
        let moves = matches!(state, HostState::Binding | HostState::Unbinding);
        let until = Until::GivenUp(
            at(180),
            "it counts as disconnected then, and can be taken out of any cluster",
        );
        assert!(!moves || wait.until == Some(until), "{wait:?}");
    }
    let mut without_inventory = host(HostState::DiscoveringUnbound);
    without_inventory.inventory = None;
    assert!(wait_of(&without_inventory).unwrap().what.contains("inventory"));
}

#[test]
fn a_stage_says_until_when_and_what_follows() {
    let writing = at_stage(HostStage::WritingImageToDisk, "40%", None, &[]).text(at(0));
    assert!(
        writing.starts_with("Writing image to disk: 40%. Since "),
        "{writing}"
    );
    assert!(writing.contains("counts as failed"), "{writing}");
    let awaited = Awaited {
        what: "The node a is awaited".into(),
        todo: "Look at its console.".into(),
    };
    let rebooting = at_stage(HostStage::Rebooting, "", Some(&awaited), &[]);
    assert_eq!(rebooting.since, at(60));
    let Some(Until::GivenUp(until, then)) = rebooting.until else {
        panic!("{rebooting:?}");
    };
    assert_eq!(until, at(60) + TimeDelta::minutes(40));
    assert!(then.contains("not booted"), "{then}");
    let text = rebooting.text(at(60));
    assert!(text.ends_with("Look at its console."), "{text}");
    let joined = at_stage(HostStage::Joined, "", Some(&awaited), &[]).text(at(60));
    assert!(joined.contains("counts as complete"), "{joined}");
}

#[test]
fn a_stage_has_the_end_that_is_kept_after_an_outage_of_the_service() {
    let outage = DeafTime {
        from: at(120),
        to: at(120) + TimeDelta::minutes(25),
    };
    let end = |deaf: &[DeafTime]| at_stage(HostStage::Rebooting, "", None, deaf).until;
    let then = |at| {
        Some(Until::GivenUp(
            at,
            "the machine counts as not booted from its disk then, and a user has to look at it",
        ))
    };
    assert_eq!(end(&[]), then(at(60) + TimeDelta::minutes(40)));
    assert_eq!(end(&[outage]), then(at(60) + TimeDelta::minutes(65)));
}

#[test]
fn a_host_that_is_ready_and_held_says_what_ends_it() {
    let held = (Some("there is no OS image; add one"), None);
    let wait = of_host(&host(HostState::Known), true, &Synced::Ok(None), None, None, held).unwrap();
    assert!(
        wait.needs_user && wait.what.contains("there is no OS image; add one"),
        "{wait:?}"
    );
}

#[test]
fn a_host_that_is_not_approved_waits_for_its_user() {
    let host = host(HostState::Known);
    let wait = of_host(&host, false, &Synced::Ok(None), None, None, (None, None)).unwrap();
    assert!(wait.needs_user && wait.todo.contains("spec.approved"));
}

#[test]
fn a_spec_that_is_not_followed_is_a_wait_unless_the_host_has_another() {
    let synced = Synced::Backend("its cluster is not known yet".into());
    let of = |state| of_host(&host(state), true, &synced, Some(at(5)), None, (None, None)).unwrap();
    let wait = of(HostState::KnownUnbound);
    assert_eq!(
        (wait.reason, wait.since, wait.needs_user),
        ("SpecNotFollowed", at(5), false)
    );
    assert!(wait.what.contains("its cluster is not known yet"));
    assert_eq!(of(HostState::Binding).reason, "WaitingForAgent");
    let known = of(HostState::Known);
    assert!(
        known.what.contains("its cluster is not known yet"),
        "{}",
        known.what
    );
    let input = Synced::Input("hostname: bad".into());
    let wait = of_host(
        &host(HostState::KnownUnbound),
        true,
        &input,
        Some(at(5)),
        None,
        (None, None),
    )
    .unwrap();
    assert!(wait.needs_user);
}
