//! What needs somebody beside hosts, over all InfraEnvs. An addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::boot::BootingMachine;
use crate::ids::{BmcId, ClusterId, InfraEnvId};
use crate::serialize::is_default;

/// BMCs and machines that need somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Troubles {
    /// BMCs whose discovery failed, by name; at most 100.
    pub bmcs: Vec<FailedBmc>,
    /// Number of all of them.
    pub bmcs_total: usize,
    /// Machines that fetched boot files within a day, and will not register by themselves: the last file was refused, or they have requested
    /// nothing for ten minutes. By InfraEnv, newest first; at most 100.
    pub machines: Vec<StuckMachine>,
    /// Number of all of them.
    pub machines_total: usize,
    /// Certificate signing requests of nodes that the service did not approve, of clusters that hosts are joining; at most 100. Known where
    /// the controllers run.
    #[serde(default)]
    pub certificate_requests: Vec<PendingRequest>,
    /// Number of all of them.
    #[serde(default)]
    pub certificate_requests_total: usize,
}

/// A certificate signing request of a node that is not approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PendingRequest {
    pub cluster_id: ClusterId,
    /// Name of the cluster.
    pub cluster: String,
    /// Of the CertificateSigningRequest in that cluster.
    pub name: String,
    /// The node that the certificate is for, as the request has it.
    pub node: String,
    /// `client` or `serving`.
    pub kind: String,
    /// RFC 3339 with milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub since: Option<String>,
    /// The reason why it is not approved, and what to do.
    pub reason: String,
}

/// A BMC whose discovery failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedBmc {
    pub id: BmcId,
    pub infra_env_id: InfraEnvId,
    /// Name of the InfraEnv.
    pub infra_env: String,
    pub name: String,
    /// Why it failed, and what to do.
    pub reason: String,
}

/// A machine that will not register by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StuckMachine {
    pub infra_env_id: InfraEnvId,
    /// Name of the InfraEnv.
    pub infra_env: String,
    pub machine: BootingMachine,
}
