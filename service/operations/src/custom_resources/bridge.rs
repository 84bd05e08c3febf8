//! Holds the state of the custom-resource bridge, for `/ready`, the outbox, and queries about records that belong to
//! resources.

mod approval;
mod requests;
mod watch_health;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use muster_api::time::Timestamp;
use muster_core::record::KubeRef;

use crate::node_pools::{NodePoolReader, Recent};
use crate::resources::{ResourceKind, Resources, Seen};
pub use approval::NotApproved;
pub use requests::{PendingCsr, PendingCsrs};
use watch_health::WatchHealth;

/// The state of the bridge in this replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeStatus {
    /// No bridge is configured.
    Off,
    /// The bridge and its controllers are in other replicas.
    Elsewhere,
    /// The API server has not responded yet.
    Starting,
    /// Another service runs such controllers: its name and the remedy.
    Waiting(String),
    /// The API server lacks some of our kinds.
    LacksKinds(String),
    /// Controllers run here.
    Leading,
    /// Controllers run here with a problem: failing watches, hosts without an InfraEnv.
    LeadingBut(String),
    /// They run in another replica, named here.
    Following(String),
    /// The API server does not respond.
    Unreachable { since: Timestamp, why: String },
}

impl fmt::Display for BridgeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => write!(f, "off"),
            Self::Elsewhere => write!(f, "left to other replicas"),
            Self::Starting => write!(f, "starting"),
            Self::LacksKinds(what) | Self::Waiting(what) => write!(f, "{what}"),
            Self::Leading => write!(f, "ok, leading"),
            Self::LeadingBut(why) => write!(f, "leading, but {why}"),
            Self::Following(leader) => write!(f, "ok, {leader} leads"),
            Self::Unreachable { since, why } => {
                let since = since.format("%Y-%m-%dT%H:%M:%SZ");
                write!(f, "no answer since {since}: {why}, trying again")
            }
        }
    }
}

/// Shared between the bridge and the rest of the service.
pub struct BridgeState {
    status: Mutex<BridgeStatus>,
    in_database: bool,
    watches: WatchHealth,
    /// Further remarks for users while the controllers run here.
    remarks: Mutex<BTreeMap<&'static str, String>>,
    /// `None`: this process cannot read custom resources.
    resources: Mutex<Option<Arc<dyn Resources>>>,
    /// `None`: this process cannot read node pools.
    node_pools: Mutex<Option<Arc<dyn NodePoolReader>>>,
    requests: PendingCsrs,
}

impl BridgeState {
    /// `in_database`: the Kubernetes API is kept in the service's database.
    pub fn new(status: BridgeStatus, in_database: bool) -> Self {
        Self {
            status: Mutex::new(status),
            in_database,
            watches: WatchHealth::default(),
            remarks: Mutex::default(),
            resources: Mutex::default(),
            node_pools: Mutex::default(),
            requests: PendingCsrs::default(),
        }
    }

    /// Sets a remark for users about `subject` while the controllers run here; `None`: removes it.
    pub fn remark(&self, subject: &'static str, remark: Option<String>) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        match remark {
            Some(remark) => remarks.insert(subject, remark),
            None => remarks.remove(subject),
        };
    }

    /// True when the Kubernetes API is kept in the service's database, and is unavailable with it.
    pub fn is_in_database(&self) -> bool {
        self.in_database
    }

    pub fn status(&self) -> BridgeStatus {
        let status = self.lock().clone();
        if status != BridgeStatus::Leading {
            return status;
        }
        let remarks = self
            .remarks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let watches = self.watches.report(Instant::now());
        let all: Vec<String> = watches.into_iter().chain(remarks.into_values()).collect();
        if all.is_empty() {
            status
        } else {
            BridgeStatus::LeadingBut(all.join("; "))
        }
    }

    /// The watches of the controllers.
    pub fn watches(&self) -> &WatchHealth {
        &self.watches
    }

    /// True if there is a bridge, here or in other replicas: then changes of hosts are handled by the leading replica.
    pub fn is_on(&self) -> bool {
        *self.lock() != BridgeStatus::Off
    }

    /// Sets the reader of custom resources.
    pub fn look_by(&self, resources: Arc<dyn Resources>) {
        *self.resources.lock().unwrap_or_else(PoisonError::into_inner) = Some(resources);
    }

    /// The reader of custom resources; `None`: this process has none.
    pub(crate) fn resources(&self) -> Option<Arc<dyn Resources>> {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Sets the reader of node pools.
    pub fn read_node_pools_by(&self, reader: Arc<dyn NodePoolReader>) {
        let recent: Arc<dyn NodePoolReader> = Arc::new(Recent::new(reader));
        *self.node_pools.lock().unwrap_or_else(PoisonError::into_inner) = Some(recent);
    }

    /// The reader of node pools; `None`: this process has none.
    pub(crate) fn node_pools(&self) -> Option<Arc<dyn NodePoolReader>> {
        self.node_pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The certificate signing requests that the controllers of this process did not approve.
    pub fn requests(&self) -> &PendingCsrs {
        &self.requests
    }

    /// The custom resource of a record. If this process cannot read custom resources, it counts as existing; without a
    /// bridge as deleted.
    pub async fn look(&self, kind: ResourceKind, kube: &KubeRef) -> Seen {
        if !self.is_on() {
            return Seen::Gone;
        }
        match self.resources() {
            Some(resources) => resources.look(kind, kube).await,
            None => Seen::There,
        }
    }

    pub fn set(&self, standing: BridgeStatus) {
        *self.lock() = standing;
    }

    /// Records that the API server does not respond, perhaps for some time already.
    pub fn unreachable(&self, now: Timestamp, why: String) {
        let mut status = self.lock();
        let since = match &*status {
            BridgeStatus::Unreachable { since, .. } => *since,
            _ => now,
        };
        *status = BridgeStatus::Unreachable { since, why };
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BridgeStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_its_beginning() {
        let state = BridgeState::new(BridgeStatus::Starting, false);
        let at = |seconds: i64| Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap();
        state.unreachable(at(0), "refused".into());
        state.unreachable(at(9), "timed out".into());
        assert_eq!(
            state.status().to_string(),
            "no answer since 2026-11-18T11:06:40Z: timed out, trying again"
        );
        state.set(BridgeStatus::Leading);
        state.remark("orphans", Some("3 hosts have no Agents".into()));
        assert_eq!(state.status().to_string(), "leading, but 3 hosts have no Agents");
        state.remark("orphans", None);
        assert_eq!(state.status().to_string(), "ok, leading");
        state.set(BridgeStatus::Following("a-1".into()));
        assert_eq!(state.status().to_string(), "ok, a-1 leads");
        state.unreachable(at(20), "refused".into());
        assert!(state.status().to_string().contains("11:07:00Z"));
    }
}
