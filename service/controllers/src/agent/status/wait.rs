//! Computes the wait of an Agent, for Events: its reason, since when, until when, and advice for users.

use muster_api::host::HostStage;
use muster_api::time::Timestamp;
use muster_controller::conditions::Synced;
use muster_controller::waits::{Until, Wait};
use muster_core::record::{CleaningStage, Host, HostState, Progress};
use muster_core::rules::cleaning;

use crate::join::awaited::Awaited;

const FAILS: &str = "the installation counts as failed then";

/// The end of the wait of a node that has joined.
const INSTALLED: &str = "the installation counts as complete then";

const DISCONNECTED: &str = "it counts as disconnected then, and can be taken out of any cluster";

const QUARANTINE: &str = "it goes into quarantine then, and a Machine takes another Agent";

const BOOT_DISCOVERY: &str = "Boot the machine into the discovery image, unless it comes back by itself.";

/// The wait of a host; `None`: the host waits for nothing, or has ended. `awaited`: what its cluster keeps it waiting for.
/// `unsynced_since`: the time since which its spec is not followed. `held`: the reason why a host that is ready is not installed. `end`:
/// of the wait, by [`end_of_wait`](muster_core::lifecycle::host::deadline::end_of_wait).
pub fn of_host(
    host: &Host,
    approved: bool,
    synced: &Synced,
    unsynced_since: Option<Timestamp>,
    awaited: Option<&Awaited>,
    (held, end): (Option<&str>, Option<Timestamp>),
) -> Option<Wait> {
    of_state(host, approved, synced, awaited, (held, end)).or_else(|| of_spec(synced, unsynced_since?))
}

/// The wait for a spec that cannot be followed.
fn of_spec(synced: &Synced, since: Timestamp) -> Option<Wait> {
    let (what, needs_user) = match synced {
        Synced::Ok(_) => return None,
        Synced::Input(why) => (why, true),
        Synced::Backend(why) => (why, false),
    };
    let wait = wait(
        "SpecNotFollowed",
        since,
        format!("The Agent's spec is not followed: {what}"),
    );
    Some(Wait { needs_user, ..wait })
}

fn of_state(
    host: &Host,
    approved: bool,
    synced: &Synced,
    awaited: Option<&Awaited>,
    (held, end): (Option<&str>, Option<Timestamp>),
) -> Option<Wait> {
    let since = host.data.status_updated_at;
    let info = || host.data.status_info.clone();
    let waits = |reason, what: &str| Some(wait(reason, since, what));
    let user = |reason, what: String, todo: &str| {
        Some(Wait {
            todo: todo.to_owned(),
            needs_user: true,
            ..wait(reason, since, what)
        })
    };
    if let Some(waking) = host.data.waking() {
        let waits = wait("WaitingForHostToWake", waking.asked_at, info());
        let waits = with_todo(
            waits,
            "If it goes on, see its BMC (muster bmc show) and its console.",
        );
        return Some(until(waits, end, QUARANTINE));
    }
    match &host.state {
        HostState::Binding => waits(
            "WaitingForAgent",
            "The host was given to its cluster, and its agent is awaited to register there",
        )
        .map(|wait| with_todo(wait, "If it does not come, see whether the machine runs the discovery image and reaches the service."))
        .map(|wait| until(wait, end, DISCONNECTED)),
        HostState::Discovering | HostState::DiscoveringUnbound if host.inventory.is_none() => {
            waits("WaitingForInventory", "The host has registered, and its inventory is awaited")
                .map(|wait| with_todo(wait, "If it does not come, see the agent's log on the machine."))
        }
        HostState::DiscoveringUnbound if host.data.cleaning.is_some() => of_cleaning(host, end),
        HostState::Insufficient { .. } => user("ChecksFail", info(), "Mend what the checks name, or take the host out of its cluster."),
        HostState::PendingForInput { .. } => user("WaitingForSettings", info(), "Give the cluster what the checks name."),
        HostState::Disconnected => user(
            "HostSilent",
            info(),
            "See whether the machine is on, runs the discovery image and reaches the service.",
        ),
        HostState::Known if !approved => user(
            "WaitingForApproval",
            "The host is ready to be installed, and waits to be approved".into(),
            "Set the Agent's spec.approved to true.",
        ),
        HostState::Known if held.is_some() => user(
            "WaitingForInstallation",
            format!("The host is ready to be installed, and is not: {}", held.unwrap_or_default()),
            "",
        ),
        HostState::Known => match synced {
            Synced::Ok(_) => waits(
                "WaitingForInstallation",
                "The host is ready to be installed, and its installation has not begun",
            ),
            Synced::Input(why) | Synced::Backend(why) => {
                user("WaitingForInstallation", format!("The host is ready to be installed, and is not: {why}"), "")
            }
        },
        HostState::Installing => waits(
            "WaitingForInstallation",
            "The host is instructed to install, and its first report about that is awaited",
        )
        .map(|wait| until(wait, end, FAILS)),
        HostState::InstallingInProgress => Some(of_stage(host.data.progress.as_ref()?, awaited, end)),
        HostState::InstallingPendingUserAction { .. }
        | HostState::ResettingPendingUserAction
        | HostState::UnbindingPendingUserAction
            if host.data.is_booted_by_bmc() =>
        {
            Some(wait("WaitingForBmc", since, info()))
        }
        HostState::InstallingPendingUserAction { .. } => user(
            "WaitingForUser",
            info(),
            "Make the machine boot from its installation disk.",
        ),
        HostState::ResettingPendingUserAction if host.boots_itself_again() => Some(until(
            wait("WaitingForReinstall", since, info()),
            end,
            "a user has to boot it into the discovery image then",
        )),
        HostState::ResettingPendingUserAction | HostState::UnbindingPendingUserAction => {
            user("WaitingForUser", info(), BOOT_DISCOVERY)
        }
        HostState::Unbinding => waits(
            "WaitingForAgent",
            "The host was taken out of its cluster, and its agent is awaited to register again",
        )
        .map(|wait| until(wait, end, DISCONNECTED)),
        HostState::Reclaiming | HostState::ReclaimingRebooting => Some(until(
            wait("WaitingForReclaim", since, info()),
            end,
            "a user has to boot it into the discovery image then",
        )),
        // Hosts of the pool, until a cluster needs them; or hosts that have ended.
        HostState::Discovering
        | HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled => None,
    }
}

fn of_cleaning(host: &Host, end: Option<Timestamp>) -> Option<Wait> {
    let pending = host.data.cleaning.as_ref()?;
    match &pending.stage {
        CleaningStage::Failed { at, .. } => Some(Wait {
            todo: "Annotate the Agent with agent.agent-install.openshift.io/erase=retry, or =skip to leave what is on its disks."
                .to_owned(),
            needs_user: true,
            ..wait("CannotBeErased", *at, cleaning::describe(pending))
        }),
        CleaningStage::Waiting { .. } | CleaningStage::Erasing { .. } => Some(until(
            // Without the progress, which would be another text each time.
            wait(
                "BeingErased",
                host.data.status_updated_at,
                "The host has left a cluster, and its disks are erased before it is available again",
            ),
            end,
            "it is kept out of the pool as one that cannot be erased then",
        )),
    }
}

fn of_stage(progress: &Progress, awaited: Option<&Awaited>, end: Option<Timestamp>) -> Wait {
    let stage = progress.stage.name();
    let then = match progress.stage {
        HostStage::Rebooting => {
            "the machine counts as not booted from its disk then, and a user has to look at it"
        }
        HostStage::Joined => INSTALLED,
        _ => FAILS,
    };
    let what = match (awaited, progress.info.is_empty()) {
        (Some(awaited), _) => format!("{stage}: {}", awaited.what),
        (None, false) => format!("{stage}: {}", progress.info.trim_end_matches('.')),
        (None, true) => format!("The installation's stage {stage:?} goes on"),
    };
    let todo = awaited.map_or("", |awaited| &awaited.todo);
    let wait = with_todo(wait("InstallationStage", progress.stage_started_at, what), todo);
    until(wait, end, then)
}

fn wait(reason: &'static str, since: Timestamp, what: impl Into<String>) -> Wait {
    Wait {
        reason,
        what: what.into().trim_end_matches('.').to_owned(),
        since,
        until: None,
        todo: String::new(),
        needs_user: false,
    }
}

fn with_todo(wait: Wait, todo: &str) -> Wait {
    Wait {
        todo: todo.to_owned(),
        ..wait
    }
}

fn until(wait: Wait, at: Option<Timestamp>, then: &'static str) -> Wait {
    Wait {
        until: at.map(|at| Until::GivenUp(at, then)),
        ..wait
    }
}
