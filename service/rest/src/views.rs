//! Renders records as the protocol's objects.

use std::sync::Arc;

use muster_api::cluster::Cluster as ClusterView;
use muster_api::host::Host as HostView;
use muster_api::infra_env::InfraEnv as InfraEnvView;
use muster_core::lifecycle::cluster::view::{Shape, host_networks};
use muster_core::lifecycle::host::Shown;
use muster_core::lifecycle::{host, infra_env};
use muster_core::record::{Host, InfraEnv};
use muster_operations::Operations;
use muster_operations::check_ins::CheckIns;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::urls::Urls;
use muster_store::{StoreError, StoredCluster};

/// The owner's name in every answer: there is one operator.
pub const USER: &str = "admin";

/// Renders records with the caches that it needs.
#[derive(Clone)]
pub struct Views {
    infra_envs: Arc<InfraEnvs>,
    check_ins: Arc<CheckIns>,
    urls: Arc<Urls>,
}

impl Views {
    /// The views of a service.
    pub fn of(operations: &Operations) -> Self {
        Self {
            infra_envs: operations.infra_envs.clone(),
            check_ins: operations.check_ins.clone(),
            urls: operations.urls.clone(),
        }
    }

    /// An InfraEnv as `GET` answers it.
    pub fn infra_env(&self, infra_env: &InfraEnv) -> InfraEnvView {
        infra_env::view(infra_env, &self.urls.iso(infra_env), None, USER)
    }

    /// A host as `GET` answers it.
    pub async fn host(&self, found: &Host) -> Result<HostView, StoreError> {
        let kube = self.infra_envs.belongs_to_kube(found.infra_env_id).await?;
        let seen = self.check_ins.last((found.infra_env_id, found.id));
        Ok(host::view(
            found,
            Shown {
                last_seen: seen.as_ref().map(|seen| seen.at),
                host_clock: seen.as_ref().and_then(|seen| seen.host_clock),
                user: USER,
                kube,
            },
        ))
    }

    /// A host as actions answer it: without its stages, as upstream.
    pub async fn host_after_action(&self, found: &Host) -> Result<HostView, StoreError> {
        Ok(HostView {
            progress_stages: None,
            ..self.host(found).await?
        })
    }

    /// A cluster with `hosts`.
    pub async fn cluster(
        &self,
        found: &StoredCluster,
        shape: Shape,
        hosts: &[Host],
    ) -> Result<ClusterView, StoreError> {
        let mut views = Vec::with_capacity(hosts.len());
        for host in hosts {
            views.push(self.host(host).await?);
        }
        Ok(muster_core::lifecycle::cluster::view(
            &found.cluster,
            shape,
            views,
            host_networks(hosts),
            found.deleted_at,
            USER,
        ))
    }
}
