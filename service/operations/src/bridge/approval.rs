//! Approves hosts on behalf of REST. Approval is a field of the Agent, so that there is one place where it is given and taken back.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::KubeRef;

use crate::{Operations, Result};

/// The reason why a host was not approved by REST.
#[derive(Debug, thiserror::Error)]
pub enum NotApproved {
    #[error(
        "host {host} has no Agent: hosts of an InfraEnv without a custom resource need no approval; bind it"
    )]
    NoResource { host: HostId },
    #[error("there is no Agent {agent} yet; try again when its host has registered")]
    NoAgent { agent: KubeRef },
    #[error(
        "this service does not reach the Kubernetes API with the Agents: kubectl -n {} patch agent {} --type merge -p '{{\"spec\":{{\"approved\":{approved}}}}}'",
        agent.namespace,
        agent.name
    )]
    Elsewhere { agent: KubeRef, approved: bool },
    #[error("the Kubernetes API did not change the Agent {agent}: {why}")]
    Refused { agent: KubeRef, why: String },
}

impl Operations {
    /// Approves a host, or takes its approval back.
    ///
    /// # Errors
    /// [`OperationError::Missing`](crate::OperationError::Missing); [`NotApproved`].
    pub async fn approve(&self, infra_env_id: InfraEnvId, host: HostId, approved: bool) -> Result<()> {
        let found = self.hosts.get(infra_env_id, host).await?;
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        let Some(resource) = infra_env.kube.as_ref().filter(|_| self.bridge.is_on()) else {
            return Err(NotApproved::NoResource { host: found.id }.into());
        };
        let agent = KubeRef::new(&resource.namespace, host.to_string());
        let Some(resources) = self.bridge.resources() else {
            return Err(NotApproved::Elsewhere { agent, approved }.into());
        };
        match resources.approve(&agent, approved).await {
            Ok(true) => {
                tracing::info!(host.id = %host, infra_env.id = %infra_env_id, approved, "approval set by REST");
                Ok(())
            }
            Ok(false) => Err(NotApproved::NoAgent { agent }.into()),
            Err(why) => Err(NotApproved::Refused { agent, why }.into()),
        }
    }
}
