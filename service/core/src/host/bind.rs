//! Hosts go into clusters and come back. Source: docs/protocol/host-lifecycle.md#3.2 and §8.

use muster_api::ids::ClusterId;
use muster_api::infra_env::CpuArchitecture;
use muster_api::time::Timestamp;

use super::refresh::{describe, move_to};
use super::step::{RefusalClass, Refused};
use super::{Host, HostEvent, HostFacts, HostState, news, role, wipe};
use crate::event::NewEvent;

const WAITS_FOR_AGENT: &str = "Waits for the host's agent to register again, which it does by itself";
const WAITS_FOR_BOOT: &str = "Waits for somebody to boot the host into the discovery image";

/// A host of the pool is given to the cluster of the facts.
pub(super) fn bound(
    host: &mut Host,
    event: &HostEvent,
    cluster_id: ClusterId,
    facts: &HostFacts<'_>,
) -> Result<(), Refused> {
    let refuse = |class, why: &str| Err(Refused::by_state(host, event, class, why));
    if let Some(present) = host.cluster_id {
        return refuse(
            RefusalClass::UserConflict,
            &format!("it belongs to the cluster {present} already; unbind it first"),
        );
    }
    let Some(cluster) = facts.cluster.filter(|facts| facts.cluster.id == cluster_id) else {
        return refuse(
            RefusalClass::BadInput,
            &format!("there is no cluster {cluster_id}; import it first"),
        );
    };
    match host.state {
        HostState::KnownUnbound => {}
        HostState::DiscoveringUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Binding
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Disconnected
        | HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. }
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => {
            return refuse(
                RefusalClass::UserConflict,
                &format!(
                    "only a host that is known-unbound can be bound. {}",
                    describe(host)
                ),
            );
        }
    }
    if let Some(wanted) = cluster.cluster.data.cpu_architecture {
        let found = architecture(host, facts);
        if wanted.normalized() != found.normalized() {
            return refuse(
                RefusalClass::BadInput,
                &format!(
                    "its processors are {}, and those of the cluster {} are {}",
                    found.name(),
                    cluster.cluster.data.name,
                    wanted.name()
                ),
            );
        }
    }
    if let Err(why) = role::check(host.data.role, facts) {
        return refuse(RefusalClass::BadInput, &why);
    }
    wipe::installation(host);
    host.cluster_id = Some(cluster_id);
    move_to(host, HostState::Binding, WAITS_FOR_AGENT);
    Ok(())
}

fn architecture(host: &Host, facts: &HostFacts<'_>) -> CpuArchitecture {
    let told = host
        .inventory
        .as_ref()
        .and_then(|inventory| inventory.cpu.as_ref())
        .map_or("", |cpu| &cpu.architecture);
    told.parse().unwrap_or(facts.infra_env.settings.cpu_architecture)
}

/// A host is taken out of its cluster. `reclaim`: an installed one comes back by itself.
pub(super) fn unbound(
    host: &mut Host,
    event: &HostEvent,
    reclaim: bool,
    facts: &HostFacts<'_>,
) -> Result<(), Refused> {
    let refuse = |why: &str| Err(Refused::by_state(host, event, RefusalClass::UserConflict, why));
    if host.cluster_id.is_none() {
        return refuse("it belongs to no cluster");
    }
    if let Some(cluster) = facts.infra_env.cluster_id {
        return refuse(&format!(
            "its InfraEnv belongs to the cluster {cluster} as a whole; delete the host instead"
        ));
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
            return refuse("it is being installed; cancel or reset the installation first");
        }
        // Nobody waits for it where it goes: its cluster is gone.
        HostState::Binding if facts.cluster.is_none() => (HostState::Unbinding, WAITS_FOR_AGENT),
        HostState::ResettingPendingUserAction if facts.cluster.is_none() => {
            (HostState::UnbindingPendingUserAction, WAITS_FOR_BOOT)
        }
        HostState::Binding => {
            return refuse("it is on its way into the cluster; wait until it has registered again");
        }
        HostState::ResettingPendingUserAction => {
            return refuse("it was reset; boot it into the discovery image first, or delete it");
        }
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => return refuse("it belongs to no cluster"),
    };
    wipe::membership(host);
    move_to(host, state, info);
    Ok(())
}

/// A node that is reclaimed has what it boots next.
pub(super) fn downloaded(host: &mut Host, event: &HostEvent) -> Result<(), Refused> {
    if host.state != HostState::Reclaiming {
        return Err(Refused::by_state(
            host,
            event,
            RefusalClass::NotAccepted,
            "it was not asked to download boot artifacts",
        ));
    }
    move_to(
        host,
        HostState::ReclaimingRebooting,
        "Reboots into the discovery image",
    );
    Ok(())
}

/// It does not, so somebody must help.
pub(super) fn not_downloaded(host: &mut Host, event: &HostEvent) -> Result<(), Refused> {
    if !matches!(host.state, HostState::Reclaiming | HostState::ReclaimingRebooting) {
        return Err(Refused::by_state(
            host,
            event,
            RefusalClass::NotAccepted,
            "it was not asked to download boot artifacts",
        ));
    }
    give_up_reclaiming(
        host,
        "The host could not download what it boots into discovery with",
    );
    Ok(())
}

/// A node does not come back by itself.
pub(super) fn give_up_reclaiming(host: &mut Host, why: &str) {
    wipe::membership(host);
    let info = format!("{why}. {WAITS_FOR_BOOT}");
    move_to(host, HostState::UnbindingPendingUserAction, &info);
}

/// What is told of a bind or unbind that a user made; what controllers do is told by their resources.
pub(super) fn told(
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
        HostEvent::Bound { .. } => Some(news::host_bind_succeeded(next, now)),
        HostEvent::Unbound if old.cluster_id.is_some() => Some(news::host_unbind_succeeded(next, now)),
        _ => None,
    }
}
