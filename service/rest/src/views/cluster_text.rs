//! Renders clusters with their hosts, which are read a hundred at a time: once for the cluster's sums over all of them, and again for
//! the hosts themselves. A cluster of any size needs the memory of one part.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use muster_api::cluster::Cluster as ClusterView;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::lifecycle::cluster::Shape;
use muster_core::lifecycle::cluster::view::HostSums;
use muster_operations::hosts::Hosts;
use muster_operations::records::{HostForm, StoreError, StoredCluster};

use super::Views;
use super::host_list::HostList;

/// The text before the hosts of a cluster. No other field has this name, and in texts the quotes are escaped.
const BEFORE_HOSTS: &str = "\"hosts\":[";

/// Hosts that are summed up at once.
const AT_ONCE: usize = 100;

/// The hosts that are returned with a cluster.
#[derive(Debug, Clone, Copy)]
pub enum With {
    Nobody,
    All,
    /// The hosts of one InfraEnv.
    Of(InfraEnvId),
}

/// Renders clusters for one caller.
#[derive(Clone)]
pub struct ClusterText {
    pub hosts: Arc<Hosts>,
    pub views: Views,
    pub shape: Shape,
    pub with: With,
}

impl ClusterText {
    /// The JSON of a cluster after `before`.
    pub fn of(
        self,
        before: &'static str,
        found: StoredCluster,
    ) -> impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static {
        stream::once(self.parts(before, found)).try_flatten()
    }

    async fn parts(
        self,
        before: &'static str,
        found: StoredCluster,
    ) -> Result<impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static, StoreError> {
        let keys = self.keys(found.cluster.id).await?;
        let sums = self.sums(&keys).await?;
        let (head, tail) = around_hosts(before, &self.views.cluster(&found, self.shape, sums))?;
        let hosts = HostList {
            hosts: self.hosts,
            views: self.views,
            form: HostForm::Whole,
            shape: |_: &_, view| Some(view),
        };
        let text = |text: Bytes| stream::once(async move { Ok(text) });
        Ok(text(head).chain(hosts.entries(keys)).chain(text(tail)))
    }

    async fn keys(&self, id: ClusterId) -> Result<Vec<(InfraEnvId, HostId)>, StoreError> {
        let only = match self.with {
            With::Nobody => return Ok(Vec::new()),
            With::All => None,
            With::Of(only) => Some(only),
        };
        let mut keys = self.hosts.keys_in_cluster(id).await?;
        keys.retain(|(infra_env_id, _)| only.is_none_or(|only| *infra_env_id == only));
        Ok(keys)
    }

    async fn sums(&self, keys: &[(InfraEnvId, HostId)]) -> Result<HostSums, StoreError> {
        // Networks are read from inventories.
        let form = match self.shape {
            Shape::Listed => HostForm::Brief,
            Shape::Alone | Shape::Imported => HostForm::Whole,
        };
        let mut sums = HostSums::default();
        for part in keys.chunks(AT_ONCE) {
            for host in &self.hosts.read(part, form).await? {
                sums.add(host);
            }
        }
        Ok(sums)
    }
}

/// The text before and after the hosts of a cluster without its hosts.
fn around_hosts(before: &str, cluster: &ClusterView) -> Result<(Bytes, Bytes), StoreError> {
    let unwritable = |source| StoreError::Encode {
        table: "clusters",
        column: "hosts",
        source,
    };
    let text = serde_json::to_string(cluster).map_err(unwritable)?;
    let Some(at) = text.find(BEFORE_HOSTS) else {
        return Err(unwritable(serde::ser::Error::custom("a cluster without hosts")));
    };
    let (head, tail) = text.split_at(at + BEFORE_HOSTS.len());
    Ok((format!("{before}{head}").into(), tail.to_owned().into()))
}
