//! Binds hosts to clusters and takes them back. Source: docs/protocol/host-lifecycle.md#3.2 and #8.

use muster_api::ids::ClusterId;
use muster_api::infra_env::CpuArchitecture;
use muster_api::time::Timestamp;

use super::event::HostEvent;
use super::step::Rejection;
use super::transition::{describe, move_to};
use super::{events, wipe};
use crate::record::{Host, HostState, NewEvent};
use crate::rules::facts::HostFacts;
use crate::rules::role;

const WAITS_FOR_AGENT: &str = "Waits for the host's agent to register again, which it does by itself";
const WAITS_FOR_BOOT: &str = "Waits for somebody to boot the host into the discovery image";

/// Gives an unbound host to the cluster of the facts.
pub(super) fn bound(host: &mut Host, cluster_id: ClusterId, facts: &HostFacts<'_>) -> Result<(), Rejection> {
    if let Some(present) = host.cluster_id {
        return Err(Rejection::conflict(format!(
            "it belongs to the cluster {present} already; unbind it first"
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
        let found = architecture(host, facts);
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

fn architecture(host: &Host, facts: &HostFacts<'_>) -> CpuArchitecture {
    let reported = host
        .inventory
        .as_ref()
        .and_then(|inventory| inventory.cpu.as_ref())
        .map_or("", |cpu| &cpu.architecture);
    reported
        .parse()
        .unwrap_or(facts.infra_env.settings.cpu_architecture)
}

/// Takes a host out of its cluster. `reclaim`: an installed one returns by itself.
pub(super) fn unbound(host: &mut Host, reclaim: bool, facts: &HostFacts<'_>) -> Result<(), Rejection> {
    if host.cluster_id.is_none() {
        return Err(Rejection::conflict("it belongs to no cluster"));
    }
    if let Some(cluster) = facts.infra_env.cluster_id {
        return Err(Rejection::conflict(format!(
            "its InfraEnv belongs to the cluster {cluster} as a whole; delete the host instead"
        )));
    }
    let (state, info) = match host.state {
        HostState::Known
        | HostState::Discovering
        | HostState::Disconnected
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. } => (HostState::Unbinding, WAITS_FOR_AGENT),
        HostState::AddedToExistingCluster if reclaim => (
            HostState::Reclaiming,
            "Downloads what it needs to boot into discovery again",
        ),
        HostState::AddedToExistingCluster | HostState::Error | HostState::Cancelled => {
            (HostState::UnbindingPendingUserAction, WAITS_FOR_BOOT)
        }
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. } => {
            return Err(Rejection::conflict(
                "it is being installed; cancel or reset the installation first",
            ));
        }
        // Its cluster is gone, so no registration there can end the wait.
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
    wipe::membership(host);
    move_to(host, state, info);
    Ok(())
}

/// A node that is reclaimed has downloaded its boot artifacts.
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
    give_up_reclaiming(
        host,
        "The host could not download what it boots into discovery with",
    );
    Ok(())
}

fn not_asked_to_download() -> Rejection {
    Rejection::not_accepted("it was not asked to download boot artifacts")
}

/// A node does not return by itself.
pub(super) fn give_up_reclaiming(host: &mut Host, why: &str) {
    wipe::membership(host);
    let info = format!("{why}. {WAITS_FOR_BOOT}");
    move_to(host, HostState::UnbindingPendingUserAction, &info);
}

/// The event about a bind or unbind by a REST user; controllers report theirs in their resources.
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
        HostEvent::Bound { .. } => Some(events::host_bind_succeeded(next, now)),
        HostEvent::Unbound if old.cluster_id.is_some() => Some(events::host_unbind_succeeded(next, now)),
        _ => None,
    }
}
