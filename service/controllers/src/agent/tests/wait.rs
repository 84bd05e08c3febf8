//! Waits of Agents: every state either ends, belongs to the pool, or is a wait that says what to do.

use chrono::TimeDelta;
use muster_api::host::HostStage;
use muster_core::record::{BmcBoots, HostState, NotBooted, Progress};
use muster_core::rules::limits::{USUAL_SILENCE, WaitLimits};

use super::{at, host};
use crate::agent::wait::of_host;
use crate::conditions::Synced;
use crate::join::told::Awaited;
use crate::waits::{Until, Wait};

static LIMITS: WaitLimits = WaitLimits::new(USUAL_SILENCE, Vec::new());

fn wait(state: HostState) -> Option<Wait> {
    of_host(&host(state), true, &Synced::Ok(None), None, None, (None, &LIMITS))
}

fn at_stage(stage: HostStage, info: &str, awaited: Option<&Awaited>) -> Wait {
    let mut host = host(HostState::InstallingInProgress);
    host.data.progress = Some(Progress {
        stage,
        percentage: 55,
        info: info.into(),
        stage_started_at: at(60),
        stage_updated_at: at(120),
    });
    of_host(&host, true, &Synced::Ok(None), None, awaited, (None, &LIMITS)).unwrap()
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
            let wait = of_host(&host, true, &Synced::Ok(None), None, None, (None, &LIMITS)).unwrap();
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
    let wait = of_host(
        &without_inventory,
        true,
        &Synced::Ok(None),
        None,
        None,
        (None, &LIMITS),
    )
    .unwrap();
    assert!(wait.what.contains("inventory"));
}

#[test]
fn a_stage_says_until_when_and_what_follows() {
    let writing = at_stage(HostStage::WritingImageToDisk, "40%", None).text(at(0));
    assert!(
        writing.starts_with("Writing image to disk: 40%. Since "),
        "{writing}"
    );
    assert!(writing.contains("counts as failed"), "{writing}");
    let awaited = Awaited {
        what: "The node a is awaited".into(),
        todo: "Look at its console.".into(),
    };
    let rebooting = at_stage(HostStage::Rebooting, "", Some(&awaited));
    assert_eq!(rebooting.since, at(60));
    let Some(Until::GivenUp(until, then)) = rebooting.until else {
        panic!("{rebooting:?}");
    };
    assert_eq!(until, at(60) + TimeDelta::minutes(40));
    assert!(then.contains("not booted"), "{then}");
    let text = rebooting.text(at(60));
    assert!(text.ends_with("Look at its console."), "{text}");
}

#[test]
fn a_host_that_is_ready_and_held_says_what_ends_it() {
    let held = (Some("there is no OS image; add one"), &LIMITS);
    let wait = of_host(&host(HostState::Known), true, &Synced::Ok(None), None, None, held).unwrap();
    assert!(
        wait.needs_user && wait.what.contains("there is no OS image; add one"),
        "{wait:?}"
    );
}

#[test]
fn a_host_that_is_not_approved_waits_for_its_user() {
    let host = host(HostState::Known);
    let wait = of_host(&host, false, &Synced::Ok(None), None, None, (None, &LIMITS)).unwrap();
    assert!(wait.needs_user && wait.todo.contains("spec.approved"));
}

#[test]
fn a_spec_that_is_not_followed_is_a_wait_unless_the_host_has_another() {
    let synced = Synced::Backend("its cluster is not known yet".into());
    let of = |state| of_host(&host(state), true, &synced, Some(at(5)), None, (None, &LIMITS)).unwrap();
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
        (None, &LIMITS),
    )
    .unwrap();
    assert!(wait.needs_user);
}
