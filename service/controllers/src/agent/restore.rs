//! Restores a host whose record was lost (another database, a backup that is older than its Agents) from its
//! Agent's annotations. Source: docs/protocol/kube-controllers.md#4.1 step 3.
//!
//! Only what the Agent has is restored, nothing is invented. An unbound host and one that waited in its
//! cluster are validated anew from their inventory; silent ones become disconnected by themselves. An
//! installed node stays installed. One that was in the middle of something cannot go on, and how it ended is
//! not known: it becomes `error` and says so, until a user resets or unbinds it.

use std::sync::Arc;

use kube::ResourceExt;
use muster_api::host::{HostKind, HostRole, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;
use muster_core::record::{Host, HostData, HostState, NodeAgent, Progress, Secret};
use muster_core::rules::limits::USUAL_SILENCE;
use muster_resources::Agent;
use muster_resources::names::annotation;
use serde::de::DeserializeOwned;

/// The host's id, InfraEnv and cluster.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The host.
    pub id: HostId,
    /// The InfraEnv that the Agent's label names.
    pub infra_env_id: InfraEnvId,
    /// The cluster that its spec names, if that is there.
    pub cluster_id: Option<ClusterId>,
}

/// The host as far as `agent` (whole, not cached) tells; `None`: it was never the Agent of a host.
pub fn restored(agent: &Agent, place: Place, now: Timestamp) -> Option<Host> {
    let annotations = agent.annotations();
    let value_of = |key: &str| annotations.get(key).map_or("", String::as_str);
    let status: HostStatus = value_of(annotation::AGENT_STATE).parse().ok()?;
    let inventory: Option<Inventory> = parsed(value_of(annotation::AGENT_INVENTORY));
    let role: HostRole = value_of(annotation::AGENT_ROLE).parse().unwrap_or_default();
    let stage: Option<HostStage> = value_of(annotation::AGENT_CURRENT_STAGE).parse().ok();
    let (state, info) = state(status, place.cluster_id.is_some());
    let bound = match state {
        HostState::DiscoveringUnbound => None,
        _ => place.cluster_id,
    };
    let created_at = agent
        .creation_timestamp()
        .and_then(|time| Timestamp::from_timestamp(time.0.as_second(), 0))
        .unwrap_or(now);
    let data = HostData {
        kind: if bound.is_some() {
            HostKind::AddToExistingClusterHost
        } else {
            HostKind::Host
        },
        status_info: info,
        created_at,
        role,
        suggested_role: role,
        approved: agent.spec.approved,
        requested_hostname: agent.spec.hostname.clone().filter(|name| !name.is_empty()),
        // If the node runs none after all, its silence says so when it is to return.
        node_agent: match status {
            HostStatus::AddedToExistingCluster | HostStatus::Reclaiming | HostStatus::ReclaimingRebooting => {
                NodeAgent::Installed
            }
            _ => NodeAgent::Absent,
        },
        validations: parsed(value_of(annotation::AGENT_VALIDATIONS_INFO)).unwrap_or_default(),
        agent_disk_reasons: inventory
            .iter()
            .flat_map(|inventory| &inventory.disks)
            .map(|_| Vec::new())
            .collect(),
        progress: stage.map(|stage| Progress {
            stage,
            percentage: 0,
            info: String::new(),
            stage_started_at: now,
            stage_updated_at: now,
        }),
        ..HostData::new(now)
    };
    Some(Host {
        id: place.id,
        infra_env_id: place.infra_env_id,
        cluster_id: bound,
        state,
        version: 0,
        // Its time to report counts from now.
        due_at: Some(now + USUAL_SILENCE),
        checked_in_at: now,
        inventory: inventory.map(Arc::new),
        reports: Default::default(),
        bootstrap_ignition: Secret::default(),
        data,
    })
}

fn state(status: HostStatus, in_cluster: bool) -> (HostState, String) {
    let lost = "The service lost its record of this host and restored it from its Agent";
    let name = status.name();
    match status {
        HostStatus::DiscoveringUnbound
        | HostStatus::KnownUnbound
        | HostStatus::InsufficientUnbound
        | HostStatus::DisconnectedUnbound
        | HostStatus::DisabledUnbound
        | HostStatus::Unbinding => (HostState::DiscoveringUnbound, lost.into()),
        // A node on its way back goes on with the next poll of its agent.
        HostStatus::UnbindingPendingUserAction | HostStatus::Reclaiming | HostStatus::ReclaimingRebooting => {
            (
                HostState::UnbindingPendingUserAction,
                format!("{lost}. Waits for somebody to boot the host into the discovery image"),
            )
        }
        HostStatus::Discovering
        | HostStatus::Known
        | HostStatus::Disconnected
        | HostStatus::Insufficient
        | HostStatus::PendingForInput
        | HostStatus::Binding
            if in_cluster =>
        {
            (HostState::Discovering, lost.into())
        }
        // Its cluster is to be given to it anew, by the spec.
        HostStatus::Discovering
        | HostStatus::Known
        | HostStatus::Disconnected
        | HostStatus::Insufficient
        | HostStatus::PendingForInput
        | HostStatus::Binding
        | HostStatus::Disabled => (HostState::DiscoveringUnbound, lost.into()),
        HostStatus::Installed | HostStatus::AddedToExistingCluster => {
            (HostState::AddedToExistingCluster, lost.into())
        }
        HostStatus::Cancelled => (HostState::Cancelled, lost.into()),
        HostStatus::PreparingForInstallation
        | HostStatus::PreparingFailed
        | HostStatus::PreparingSuccessful
        | HostStatus::Installing
        | HostStatus::InstallingInProgress
        | HostStatus::InstallingPendingUserAction
        | HostStatus::Resetting
        | HostStatus::ResettingPendingUserAction
        | HostStatus::Error => (
            HostState::Error,
            format!(
                "{lost}, where it was {name}: how that ended is not known. Unbind it, or delete the Agent, and boot the discovery image again"
            ),
        ),
    }
}

fn parsed<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}
