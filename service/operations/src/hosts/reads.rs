//! Reads several hosts, and what is kept about them.

use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::record::{Host, KubeRef};

use super::Hosts;
use crate::records::{HistoryRecord, HostBrief, HostForm, ListedParts, StoreError, Subject};

/// The key of a host.
type Key = (InfraEnvId, HostId);

impl Hosts {
    /// A host without its documents.
    pub async fn brief(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<HostBrief>, StoreError> {
        self.store.find_host_brief(infra_env_id, id).await
    }

    /// The hosts of an InfraEnv without their documents.
    pub async fn briefs(&self, infra_env_id: InfraEnvId) -> Result<Vec<HostBrief>, StoreError> {
        self.store.list_host_briefs(Some(infra_env_id)).await
    }

    /// The number of hosts in each state that has some.
    pub async fn count_by_status(&self) -> Result<Vec<(HostStatus, i64)>, StoreError> {
        self.store.count_hosts_by_status().await
    }

    /// The number of hosts with a finding of each kind about the health of hardware.
    pub async fn count_unhealthy(&self) -> Result<Vec<(&'static str, i64)>, StoreError> {
        self.store.count_unhealthy_hosts().await
    }

    /// The keys of an InfraEnv's hosts, oldest first.
    pub async fn keys(&self, infra_env_id: InfraEnvId) -> Result<Vec<Key>, StoreError> {
        self.store.list_host_keys(infra_env_id).await
    }

    /// The keys of a cluster's hosts, in all InfraEnvs.
    pub async fn keys_in_cluster(&self, id: ClusterId) -> Result<Vec<Key>, StoreError> {
        self.store.list_cluster_host_keys(id).await
    }

    /// The keys of all hosts in one of these states.
    pub async fn keys_in(&self, statuses: &[HostStatus]) -> Result<Vec<Key>, StoreError> {
        self.store.list_host_keys_in(statuses).await
    }

    /// The keys of the hosts whose InfraEnv is a custom resource, with its name.
    pub async fn keys_of_resources(&self) -> Result<Vec<(KubeRef, InfraEnvId, HostId)>, StoreError> {
        self.store.list_kube_host_keys().await
    }

    /// The hosts of these keys that exist.
    pub async fn read(&self, keys: &[Key], form: HostForm) -> Result<Vec<Host>, StoreError> {
        self.store.read_hosts(keys, form).await
    }

    /// The hosts of these keys that exist, some at a time, for a list that is sent while it is read.
    pub fn parts(&self, keys: Vec<Key>, form: HostForm) -> ListedParts {
        self.store.listed_parts(keys, form)
    }

    /// A text that changes with every change of the InfraEnv's hosts.
    pub async fn mark(&self, infra_env_id: InfraEnvId) -> Result<String, StoreError> {
        self.store.hosts_mark(infra_env_id).await
    }

    /// The hosts that the Agent of this name in `namespace` may stand for, each with the name of its InfraEnv; the one that registered last
    /// first.
    pub async fn of_agent(&self, namespace: &str, id: HostId) -> Result<Vec<(String, Host)>, StoreError> {
        self.store.find_hosts_by_kube(namespace, id).await
    }

    /// True if a host of this InfraEnv is bound to the cluster.
    pub async fn are_in_cluster(&self, infra_env_id: InfraEnvId, id: ClusterId) -> Result<bool, StoreError> {
        self.store.has_hosts_in_cluster(infra_env_id, id).await
    }

    /// True if the InfraEnv had this host and it was deleted.
    pub async fn was_deleted(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<bool, StoreError> {
        self.store.host_was_deleted(infra_env_id, id).await
    }

    /// Hosts with this MAC address, of one InfraEnv or of all.
    pub async fn of_mac(
        &self,
        infra_env_id: Option<InfraEnvId>,
        mac: &str,
    ) -> Result<Vec<HostBrief>, StoreError> {
        self.store.find_hosts_by_mac(infra_env_id, mac).await
    }

    /// Calls `listener` with every host that changes, in any process.
    pub fn on_change(&self, listener: impl Fn(Key) + Send + Sync + 'static) {
        self.store.on_change(move |change| {
            if let Subject::Host { infra_env_id, id } = change.subject {
                listener((infra_env_id, id));
            }
        });
    }

    /// The last changes of a host's state, at most `limit`, oldest first.
    pub async fn history(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        limit: u32,
    ) -> Result<Vec<HistoryRecord>, StoreError> {
        self.store.host_history(infra_env_id, id, limit).await
    }
}
