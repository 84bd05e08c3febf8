//! A host as it is stored.

use std::sync::Arc;

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;

use super::host_data::{HostData, HostReports};
use super::host_state::HostState;
use super::requests::reboot::RebootOutcome;
use super::requests::reinstall::ReinstallStep;
use super::secret::Secret;

/// A host. The key is (`id`, `infra_env_id`): one machine booted into two InfraEnvs is two records.
///
/// `version` belongs to the store: it counts the writes of the record, and a write succeeds only on the version that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Computed by the agent.
    pub id: HostId,
    /// The InfraEnv in which it registered.
    pub infra_env_id: InfraEnvId,
    /// The cluster to which it is bound.
    pub cluster_id: Option<ClusterId>,
    pub state: HostState,
    /// Number of writes.
    pub version: i64,
    /// Time at which the host must be evaluated again even without an event; `None` when no deadline runs.
    pub due_at: Option<Timestamp>,
    /// Last poll that was stored; the check-ins in memory may be newer.
    pub checked_in_at: Timestamp,
    /// The host's report of its own hardware and network; `None` until the first good one.
    pub inventory: Option<Arc<Inventory>>,
    /// Its reports about others; kept apart from `data` because they can be large and polls do not need them.
    pub reports: Arc<HostReports>,
    /// The Ignition or cloud-config that the host is installed with, as a Cluster API bootstrap provider made it; empty: the cluster's own
    /// Ignition is used.
    /// Kept apart because it can be large.
    pub bootstrap_ignition: Secret,
    pub data: HostData,
}

impl Host {
    /// True while the agent on its node boots it into discovery, to be installed again in its cluster.
    pub fn boots_itself_again(&self) -> bool {
        let by_node = matches!(
            self.data.reinstall_step(),
            Some(ReinstallStep::Download | ReinstallStep::Reboot)
        );
        by_node && self.state == HostState::ResettingPendingUserAction
    }

    /// True from the request to install its node again until that is done, also after an attempt that failed.
    pub fn has_node_to_install_again(&self) -> bool {
        let last = self.data.asked_reinstall.as_ref();
        last.is_some_and(|last| {
            last.cluster_id.is_some()
                && last.cluster_id == self.cluster_id
                && last.outcome != Some(RebootOutcome::Done)
        })
    }
}
