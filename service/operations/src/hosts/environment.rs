//! Collects what a decision about a host depends on beside the host itself.

use std::sync::Arc;

use muster_api::ids::{ClusterId, HostId};
use muster_core::record::InfraEnv;
use muster_core::rules::facts::{HostFacts, InstallImages};
use muster_store::StoreError;

use super::Hosts;
use crate::check_ins::Seen;
use crate::clusters::ClusterContext;

/// A host's InfraEnv, cluster and last poll, read at one time.
pub(super) struct Environment {
    infra_env: Arc<InfraEnv>,
    cluster: Option<ClusterContext>,
    seen: Option<Seen>,
}

impl Hosts {
    /// The environment of `host`, as a host of `cluster`.
    pub(super) async fn environment(
        &self,
        infra_env: &Arc<InfraEnv>,
        cluster: Option<ClusterId>,
        host: HostId,
        seen: Option<Seen>,
    ) -> Result<Environment, StoreError> {
        let cluster = match cluster {
            Some(cluster) => self.clusters.context(cluster, host).await?,
            None => None,
        };
        Ok(Environment {
            infra_env: infra_env.clone(),
            cluster,
            seen,
        })
    }

    /// The parameter of decisions.
    pub(super) fn facts<'a>(&'a self, environment: &'a Environment) -> HostFacts<'a> {
        let Environment {
            infra_env,
            cluster,
            seen,
        } = environment;
        HostFacts {
            infra_env,
            cluster: cluster.as_ref().and_then(ClusterContext::facts),
            requirements: &self.settings.requirements,
            last_seen: seen.as_ref().map(|seen| seen.at),
            host_clock: seen.as_ref().and_then(|seen| seen.host_clock),
            listening_since: Some(self.settings.listening_since),
            agent_version: &self.settings.agent_version,
            agent_image: self.settings.agent_image.as_deref(),
            kube: infra_env.kube.is_some(),
            images: InstallImages::default(),
            boot_artifacts: None,
        }
    }
}
