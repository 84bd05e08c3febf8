//! Restores a host with a lost record (another database, a backup that is older than its Agents) from its
//! Agent's annotations. Source: docs/protocol/kube-controllers.md#4.1 step 3.
//!
//! Only what the Agent has is restored, nothing is invented. An unbound host and one that waited in its
//! cluster are validated again from their inventory; silent ones become disconnected in time. An
//! installed node stays installed. One that was in the middle of something cannot continue, and how it ended is
//! not known: it becomes `error`, with a message, until a user resets or unbinds it.

use std::sync::Arc;

use kube::ResourceExt;
use muster_api::host::{HostKind, HostRole, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;
use muster_core::record::{FailedParts, Failures, Host, HostData, HostState, NodeAgent, Progress, Secret};
use muster_core::rules::failures::QUARANTINED_FROM;
use muster_core::rules::limits::USUAL_SILENCE;
use muster_resources::Agent;
use muster_resources::names::annotation;
use serde::de::DeserializeOwned;

use crate::agent::metadata::KnownMachine;
use crate::agent::status::cleaning;

/// The host's id, InfraEnv and cluster.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The host.
    pub id: HostId,
    /// The InfraEnv that the Agent's label names.
    pub infra_env_id: InfraEnvId,
    /// The cluster that the spec names, if it exists.
    pub cluster_id: Option<ClusterId>,
}

/// The host as far as `agent` (whole, not cached) holds it; `None`: the Agent never belonged to a host.
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
    let since = value_of(annotation::AGENT_HOST_SINCE).parse().ok();
    let created_at = since
        .and_then(Timestamp::from_timestamp_micros)
        .or_else(|| Timestamp::from_timestamp(agent.creation_timestamp()?.0.as_second(), 0))
        .unwrap_or(now);
    let machine: KnownMachine = parsed(value_of(annotation::AGENT_MACHINE)).unwrap_or_default();
    let data = HostData {
        kind: if bound.is_some() {
            HostKind::AddToExistingClusterHost
        } else {
            HostKind::Host
        },
        status_info: info,
        created_at,
        public_key: machine.public_key,
        fingerprint: machine.fingerprint,
        role,
        suggested_role: role,
        approved: agent.spec.approved,
        requested_hostname: agent.spec.hostname.clone().filter(|name| !name.is_empty()),
        // If the node runs no agent after all, its silence shows that when it is to return.
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
        failures: failures(agent, now),
        cleaning: cleaning::restored(
            agent.status.as_ref().and_then(|status| status.cleaning.as_ref()),
            now,
        ),
        ..HostData::new(now)
    };
    Some(Host {
        id: place.id,
        infra_env_id: place.infra_env_id,
        cluster_id: bound,
        state,
        version: 0,
        // The time to report counts from now.
        due_at: Some(now + USUAL_SILENCE),
        checked_in_at: now,
        inventory: inventory.map(Arc::new),
        reports: Default::default(),
        bootstrap_ignition: Secret::default(),
        data,
    })
}

/// The failures that the status shows, without their reason: it is part of a sentence there.
fn failures(agent: &Agent, now: Timestamp) -> Option<Failures> {
    let shown = agent.status.as_ref()?.failures.as_ref()?;
    let count = u32::try_from(shown.count?).ok().filter(|count| *count > 0)?;
    let last_at = shown.last_time.as_ref();
    let last_at = last_at.and_then(|time| Timestamp::from_timestamp(time.0.as_second(), 0));
    Some(Failures {
        count,
        last_at: last_at.unwrap_or(now),
        stage: String::new(),
        message: String::new(),
        is_counted: true,
        cluster: None,
        is_of_machine: shown.quarantined,
        did_not_wake: shown.quarantined && count < QUARANTINED_FROM,
        parts: FailedParts::default(),
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
        // A node on its way back continues with the next poll of its agent.
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
        // The spec gives it its cluster again.
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
