//! The reasons why REST does not approve a host. Approval is a field of the Agent: one place where it is given and taken back.

use muster_api::ids::HostId;
use muster_core::record::KubeRef;

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
