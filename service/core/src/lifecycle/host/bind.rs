//! Binds hosts to clusters and takes them back. Source: docs/protocol/host-lifecycle.md#3.2 and #8.

use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;

use super::event::HostEvent;
use super::install::reinstall;
use super::step::Rejection;
use super::transition::{describe, move_to};
use super::{events, wipe};
use crate::record::{Host, HostData, HostState, NewEvent, NodeAgent, ReinstallStep};
use crate::rules::facts::HostFacts;
use crate::rules::{agent_version, architecture, role, stages};

const WAITS_FOR_AGENT: &str = "Waits for the host's agent to register again, which it does by itself";
const WAITS_FOR_BOOT: &str = "Waits for somebody to boot the host into the discovery image";
const STOPS_AND_REGISTERS: &str = "Waits for the host's agent to stop what it does and register again, which it does by itself; if it does not within minutes, boot the host into the discovery image";
const RETURNS_OR_BOOT: &str = "Waits for the agent on the node, with whose next poll it returns by itself, or for somebody to boot the host into the discovery image";
const WAITS_FOR_NODE: &str =
    "Waits for the agent on the node, which downloads what the node needs to boot into discovery again";

/// Binds an unbound host to the cluster in the facts.
pub(super) fn bound(host: &mut Host, cluster_id: ClusterId, facts: &HostFacts<'_>) -> Result<(), Rejection> {
    if let Some(present) = host.cluster_id {
        return Err(Rejection::conflict(format!(
            "it belongs to the cluster {} already; unbind it first",
            named(present, facts)
        )));
    }
    let Some(cluster) = facts.cluster.filter(|facts| facts.cluster.id == cluster_id) else {
        return Err(Rejection::bad_input(format!(
            "there is no cluster {cluster_id}; import it first"
        )));
    };
    if host.state != HostState::KnownUnbound {
        return Err(Rejection::conflict(format!(
            "only a host that is known-unbound can be bound. {}",
            describe(host)
        )));
    }
    if let Some(wanted) = cluster.cluster.data.cpu_architecture {
        let found = architecture::of(host, facts.infra_env);
        if wanted.normalized() != found.normalized() {
            return Err(Rejection::bad_input(format!(
                "its processors are {}, and those of the cluster {} are {}",
                found.name(),
                cluster.cluster.data.name,
                wanted.name()
            )));
        }
    }
    role::check(host.data.role, facts).map_err(Rejection::bad_input)?;
    wipe::installation(host);
    host.cluster_id = Some(cluster_id);
    move_to(host, HostState::Binding, WAITS_FOR_AGENT);
    Ok(())
}

/// Unbinds a host from its cluster. `reclaim`: an installed host that runs our agent returns without a user's help.
pub(super) fn unbound(host: &mut Host, reclaim: bool, facts: &HostFacts<'_>) -> Result<(), Rejection> {
    if host.cluster_id.is_none() {
        return Err(Rejection::conflict("it belongs to no cluster"));
    }
    if let Some(cluster) = facts.infra_env.cluster_id {
        return Err(Rejection::conflict(format!(
            "its InfraEnv belongs to the cluster {} as a whole; delete the host instead",
            named(cluster, facts)
        )));
    }
    let (state, info) = match host.state {
        HostState::Known
        | HostState::Discovering
        | HostState::Disconnected
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. } => (HostState::Unbinding, WAITS_FOR_AGENT),
        HostState::AddedToExistingCluster | HostState::Error | HostState::Cancelled => {
            after_installation(host, reclaim, facts)
        }
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. } => {
            return Err(Rejection::conflict(
                "it is being installed; cancel or reset the installation first",
            ));
        }
        HostState::ResettingPendingUserAction if host.data.pending_reinstall().is_some() => {
            reinstall::way_out(host)
        }
        // Its cluster was deleted, so no registration there can end the wait.
        HostState::Binding if facts.cluster.is_none() => (HostState::Unbinding, WAITS_FOR_AGENT),
        HostState::ResettingPendingUserAction if facts.cluster.is_none() => {
            (HostState::UnbindingPendingUserAction, WAITS_FOR_BOOT)
        }
        HostState::Binding => {
            return Err(Rejection::conflict(
                "it is on its way into the cluster; wait until it has registered again",
            ));
        }
        HostState::ResettingPendingUserAction => {
            return Err(Rejection::conflict(
                "it was reset; boot it into the discovery image first, or delete it",
            ));
        }
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => return Err(Rejection::conflict("it belongs to no cluster")),
    };
    if state == HostState::UnbindingPendingUserAction
        && stages::has_agent(&host.data)
        && host.state != HostState::AddedToExistingCluster
    {
        // The live system still runs; the disk does not hold a whole system.
        host.data.node_agent = NodeAgent::Absent;
    }
    wipe::membership(host);
    move_to(host, state, info);
    host.data.comes_back = info == STOPS_AND_REGISTERS || info == RETURNS_OR_BOOT;
    Ok(())
}

/// The cluster's name for messages; its id if it was deleted.
fn named(id: ClusterId, facts: &HostFacts<'_>) -> String {
    let known = facts.cluster.filter(|facts| facts.cluster.id == id);
    known.map_or_else(|| id.to_string(), |facts| facts.cluster.data.name.clone())
}

/// The state of a host that is unbound when its installation has begun or is over.
fn after_installation(host: &Host, reclaim: bool, facts: &HostFacts<'_>) -> (HostState, &'static str) {
    let pending = HostState::UnbindingPendingUserAction;
    let in_live_system = host.state != HostState::AddedToExistingCluster && stages::has_agent(&host.data);
    if in_live_system {
        let is_own = agent_version::is_own(&host.data.discovery_agent_version);
        return (
            pending,
            if is_own {
                STOPS_AND_REGISTERS
            } else {
                WAITS_FOR_BOOT
            },
        );
    }
    if host.data.node_agent != NodeAgent::Installed {
        return (pending, WAITS_FOR_BOOT);
    }
    if !reclaim {
        return (pending, RETURNS_OR_BOOT);
    }
    if facts.boot_artifacts.is_none() {
        return (
            pending,
            "The service has no live image that the node could boot. Waits for somebody to boot the host into the discovery image",
        );
    }
    (HostState::Reclaiming, WAITS_FOR_NODE)
}

/// True if the next poll may bring back a node after its agent had been given up ([`HostEvent::CheckedIn`]).
pub fn node_may_be_back(state: &HostState, data: &HostData) -> bool {
    let may_return = match state {
        HostState::UnbindingPendingUserAction => true,
        HostState::ResettingPendingUserAction => data.reinstall_step() == Some(ReinstallStep::Boot),
        _ => false,
    };
    may_return && data.node_agent == NodeAgent::Installed
}

/// The node's agent was given up as silent and has polled, so the node returns without a user's help after all.
pub(super) fn node_is_back(host: &mut Host, facts: &HostFacts<'_>) {
    let has_polled = facts.seen(host) > host.data.status_updated_at;
    if has_polled && host.data.node_agent == NodeAgent::Installed && facts.boot_artifacts.is_some() {
        move_to(host, HostState::Reclaiming, WAITS_FOR_NODE);
    }
}

/// A reclaimed node has downloaded its boot artifacts.
pub(super) fn downloaded(host: &mut Host) -> Result<(), Rejection> {
    if host.state != HostState::Reclaiming {
        return Err(not_asked_to_download());
    }
    move_to(
        host,
        HostState::ReclaimingRebooting,
        "Reboots into the discovery image",
    );
    Ok(())
}

/// The download failed, so a user must boot the host.
pub(super) fn not_downloaded(host: &mut Host) -> Result<(), Rejection> {
    if !matches!(host.state, HostState::Reclaiming | HostState::ReclaimingRebooting) {
        return Err(not_asked_to_download());
    }
    host.data.node_agent = NodeAgent::GaveUp;
    give_up_reclaiming(
        host,
        "The host could not download what it boots into discovery with; its journal (muster-node-agent) gives the reason",
    );
    Ok(())
}

fn not_asked_to_download() -> Rejection {
    Rejection::not_accepted("it was not instructed to download boot artifacts")
}

/// The node does not return without a user's help.
pub(super) fn give_up_reclaiming(host: &mut Host, why: &str) {
    wipe::membership(host);
    let info = format!("{why}. {WAITS_FOR_BOOT}");
    move_to(host, HostState::UnbindingPendingUserAction, &info);
}

/// The event about a bind or unbind by a REST user; controllers report theirs in their resources' conditions.
pub(super) fn event_of_move(
    old: &Host,
    next: &Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Option<NewEvent> {
    if facts.kube {
        return None;
    }
    match event {
        HostEvent::Bound { .. } => {
            let cluster = &facts.cluster?.cluster.data.name;
            Some(events::host_bind_succeeded(next, cluster, now))
        }
        HostEvent::Unbound | HostEvent::Reclaimed if old.cluster_id.is_some() => {
            Some(events::host_unbind_succeeded(next, now))
        }
        _ => None,
    }
}
