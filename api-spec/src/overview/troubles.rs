//! What needs somebody beside hosts, over all InfraEnvs. An addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::boot::BootingMachine;
use crate::ids::{BmcId, InfraEnvId};

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
