//! Names the custom resources that decide about records, and defines how operations check if such a resource exists:
//! they use no Kubernetes.

use futures_util::future::BoxFuture;
use muster_core::record::KubeRef;

/// The kinds of custom resources that decide about records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    InfraEnv,
    /// Of a host.
    Agent,
    /// Of a cluster, with its AgentClusterInstall.
    ClusterDeployment,
    Bmc,
}

impl ResourceKind {
    /// Its name in texts.
    pub fn title(self) -> &'static str {
        match self {
            Self::InfraEnv => "InfraEnv",
            Self::Agent => "Agent",
            Self::ClusterDeployment => "ClusterDeployment",
            Self::Bmc => "BMC",
        }
    }

    /// Its name in `kubectl` commands.
    pub fn word(self) -> &'static str {
        match self {
            Self::InfraEnv => "infraenv",
            Self::Agent => "agent",
            Self::ClusterDeployment => "clusterdeployment",
            Self::Bmc => "bmc",
        }
    }
}

/// An object that makes a custom resource, such as a HostedCluster, or that has taken it, as a Machine takes an Agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maker {
    /// Name of its kind in texts.
    pub title: &'static str,
    /// Name of its kind in `kubectl` commands.
    pub word: &'static str,
    pub kube: KubeRef,
}

/// The state of a custom resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It does not exist, or no controller watches its namespace: REST decides.
    Gone,
    There,
    /// It exists, and another object decides about it.
    MadeBy(Maker),
}

/// Reads custom resources, and writes what no record has.
pub trait Resources: Send + Sync {
    /// The present state of the resource. While the API server does not respond, it counts as existing.
    fn look<'a>(&'a self, kind: ResourceKind, kube: &'a KubeRef) -> BoxFuture<'a, Seen>;

    /// Sets `spec.approved` of an Agent. False: there is no such Agent. Fails with the answer of the API server.
    fn approve<'a>(&'a self, agent: &'a KubeRef, approved: bool) -> BoxFuture<'a, Result<bool, String>>;
}
