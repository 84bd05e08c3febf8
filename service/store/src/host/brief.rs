//! A host without its inventory.

use std::sync::Arc;

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{Host, HostData, HostState, Secret};

/// A [`Host`](muster_core::record::Host) without its inventory and reports: enough for lists and polls.
#[derive(Debug, Clone, PartialEq)]
pub struct HostBrief {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    pub cluster_id: Option<ClusterId>,
    pub state: HostState,
    pub version: i64,
    pub due_at: Option<Timestamp>,
    pub checked_in_at: Timestamp,
    pub data: HostData,
    pub has_inventory: bool,
}

impl HostBrief {
    /// The host as far as it was read: without inventory, reports and bootstrap ignition.
    pub fn into_host(self) -> Host {
        Host {
            id: self.id,
            infra_env_id: self.infra_env_id,
            cluster_id: self.cluster_id,
            state: self.state,
            version: self.version,
            due_at: self.due_at,
            checked_in_at: self.checked_in_at,
            inventory: None,
            reports: Arc::default(),
            bootstrap_ignition: Secret::default(),
            data: self.data,
        }
    }
}
