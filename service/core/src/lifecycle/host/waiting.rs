//! Derives the present wait of a host: what it waits for, since when, until when, and the remedy. A wait above a minute becomes a finding.

use chrono::Duration;
use muster_api::host::{HostFinding, HostStage};
use muster_api::time::Timestamp;

use super::deadline;
use crate::record::{Host, HostState, NotBooted, ReinstallStep};
use crate::rules::facts::{Deadlines, HostFacts};
use crate::rules::findings::WAITING;
use crate::rules::stages;

/// A wait is noted when it has lasted this long.
const LONG: Duration = Duration::minutes(1);

/// Something that a host waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The state or stage.
    pub name: &'static str,
    pub since: Timestamp,
    /// A part of a sentence, such as `the node to reboot into discovery`.
    pub what: String,
    /// The end of the wait, and its consequence; `None`: it has no limit.
    pub until: Option<(Timestamp, &'static str)>,
    /// Advice for users, a sentence without its full stop.
    pub what_to_do: &'static str,
}

/// Adds the finding of the present wait, and removes that of one that is over.
pub(super) fn note(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    let finding = wait(host, &facts.deadlines())
        .filter(|wait| now >= wait.since + LONG)
        .map(describe);
    host.data.set_finding(WAITING, finding);
}

/// Time at which the finding of the present wait is due; `None`: the host does not wait, or the finding exists.
pub(super) fn is_long_at(host: &Host, facts: &HostFacts<'_>) -> Option<Timestamp> {
    let wait = wait(host, &facts.deadlines())?;
    let noted = |known: &HostFinding| known.kind == WAITING && known.about == wait.name;
    (!host.data.findings.iter().any(noted)).then(|| wait.since + LONG)
}

fn describe(wait: Wait) -> HostFinding {
    let time = |at: Timestamp| at.format("%Y-%m-%d %H:%M:%S UTC");
    let until = match wait.until {
        Some((at, then)) => format!("until {}, then {then}", time(at)),
        None => "with no time set".to_owned(),
    };
    HostFinding {
        kind: WAITING.to_owned(),
        about: wait.name.to_owned(),
        others: Vec::new(),
        message: format!(
            "Since {} {} is waited for, {until}. {}",
            time(wait.since),
            wait.what,
            wait.what_to_do
        ),
    }
}

const SEE_CONSOLE: &str = "See the console of the host if it goes on: it must be on and reach the service";
const BOOT_DISCOVERY: &str = "Boot the host into the discovery image";
const BMC_BOOTS: &str = "Its BMC boots it: muster bmc list shows how far that is";

/// The present wait of a host; `None`: it waits for nothing, or for settings and repairs alone, which its state and checks show.
pub fn wait(host: &Host, deadlines: &Deadlines<'_>) -> Option<Wait> {
    let since = host.data.status_updated_at;
    let of_state = |what: &str, until, what_to_do| {
        Some(Wait {
            name: host.state.status().name(),
            since,
            what: what.to_owned(),
            until,
            what_to_do,
        })
    };
    let until = |then| deadline::end_of_wait(host, deadlines).map(|at| (at, then));
    // Polls postpone that time; the text stays the same.
    let silent = Some((
        deadlines.after(since, deadlines.limits.silence()),
        "the host counts as disconnected if its agent is silent",
    ));
    if let Some((sleep, waking)) = host
        .data
        .sleep
        .as_ref()
        .and_then(|sleep| Some((sleep, sleep.waking()?)))
    {
        return Some(Wait {
            name: "waking",
            since: waking.asked_at,
            what: format!(
                "the host, which was asleep, to be booted by its BMC {} and to register",
                sleep.bmc
            ),
            until: until("it goes into quarantine, and a Machine takes another host"),
            what_to_do: "See muster bmc show and the console of the host if it goes on",
        });
    }
    match &host.state {
        HostState::Binding => of_state("the registration of the host in its cluster", silent, SEE_CONSOLE),
        HostState::Unbinding => of_state(
            "the registration of the host in its InfraEnv",
            silent,
            SEE_CONSOLE,
        ),
        HostState::Installing => of_state(
            "the beginning of the installation",
            until("the installation counts as failed"),
            SEE_CONSOLE,
        ),
        HostState::InstallingInProgress => stage(host, deadlines),
        HostState::InstallingPendingUserAction { why } => {
            let what_to_do = match why {
                _ if host.data.is_booted_by_bmc() => "Its BMC boots it: muster bmc show reports the result",
                NotBooted::TooSlow => {
                    "Put the installation disk first in its boot order, see its console, and reboot it"
                }
                NotBooted::DiscoveryImage => {
                    "Put the installation disk first in its boot order, or take the discovery image away, and reboot it"
                }
            };
            of_state("the host to boot from its disk", None, what_to_do)
        }
        HostState::ResettingPendingUserAction if host.boots_itself_again() => {
            let what = match host.data.reinstall_step() {
                Some(ReinstallStep::Reboot) => "the node to reboot into discovery, to be installed again",
                _ => {
                    "the agent on the node to download what it needs to boot into discovery, to be installed again"
                }
            };
            of_state(
                what,
                until("somebody must boot the host"),
                "See the journal of muster-node-agent on the node, or boot the host into the discovery image",
            )
        }
        HostState::ResettingPendingUserAction | HostState::UnbindingPendingUserAction => {
            let what_to_do = match host.data.is_booted_by_bmc() {
                true => BMC_BOOTS,
                false => BOOT_DISCOVERY,
            };
            of_state("the discovery image to be booted on the host", None, what_to_do)
        }
        HostState::Reclaiming => of_state(
            "the agent on the node to download what it needs to boot into discovery",
            until("somebody must boot the host"),
            "See the journal of muster-node-agent on the node, or boot the host into the discovery image",
        ),
        HostState::ReclaimingRebooting => of_state(
            "the node to reboot into discovery",
            until("somebody must boot the host"),
            SEE_CONSOLE,
        ),
        HostState::DiscoveringUnbound if deadline::end_of_wait(host, deadlines).is_some() => of_state(
            "its disks to be erased",
            until("the host is kept out of the pool as one that cannot be erased"),
            "muster host show lists how far each disk is",
        ),
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Disconnected
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled => None,
    }
}

fn stage(host: &Host, deadlines: &Deadlines<'_>) -> Option<Wait> {
    let progress = host.data.progress.as_ref()?;
    let (then, what_to_do) = match progress.stage {
        HostStage::Rebooting => (
            "somebody must look at it",
            "See its console: it boots from the installation disk, takes its ignition and joins",
        ),
        HostStage::WaitingForIgnition | HostStage::Configuring => (
            "the installation counts as failed",
            "See the console of the node, and whether it reaches the cluster's API",
        ),
        HostStage::Joined => (
            "the installation counts as complete without it",
            "See why the Node is not Ready: kubectl describe node, and its pending certificate signing requests",
        ),
        HostStage::StartingInstallation
        | HostStage::WaitingForControlPlane
        | HostStage::WaitingForBootkube
        | HostStage::WaitingForController
        | HostStage::Installing
        | HostStage::WritingImageToDisk
        | HostStage::CopyingRegistryDataToDisk
        | HostStage::Done
        | HostStage::Failed => ("the installation counts as failed", SEE_CONSOLE),
    };
    Some(Wait {
        name: progress.stage.name(),
        since: progress.stage_started_at,
        what: format!(
            "the end of the stage {:?}{}",
            progress.stage.name(),
            stages::awaited(progress)
        ),
        until: deadline::end_of_wait(host, deadlines).map(|at| (at, then)),
        what_to_do,
    })
}
