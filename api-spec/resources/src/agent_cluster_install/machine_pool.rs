use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the nodes of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachinePool {
    /// `Enabled` or `Disabled`: simultaneous multithreading of the processors.
    #[serde(default)]
    pub hyperthreading: Hyperthreading,
    /// Name of the pool: `master`, `arbiter` or `worker`.
    pub name: String,
}

/// Simultaneous multithreading of the processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Hyperthreading {
    /// Unset: the same as `Enabled`.
    #[serde(rename = "")]
    Unset,
    /// Enabled.
    #[default]
    Enabled,
    /// Disabled.
    Disabled,
}

/// Encryption of the disks that are installed to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskEncryption {
    /// The roles with encrypted disks.
    #[serde(default)]
    pub enable_on: DiskEncryptionRoles,
    /// Keeper of the key: the machine's TPM (`tpmv2`) or servers in the network (`tang`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<DiskEncryptionMode>,
    /// For `tang`: the servers, each with `url` and `thumbprint`, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tang_servers: Option<String>,
}

/// Roles with encrypted disks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskEncryptionRoles {
    #[default]
    None,
    All,
    Masters,
    Arbiters,
    Workers,
    #[serde(rename = "masters,arbiters")]
    MastersArbiters,
    #[serde(rename = "masters,workers")]
    MastersWorkers,
    #[serde(rename = "arbiters,workers")]
    ArbitersWorkers,
    #[serde(rename = "masters,arbiters,workers")]
    MastersArbitersWorkers,
}

/// Keeper of the key of an encrypted disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskEncryptionMode {
    /// TPM 2.0 of the machine.
    Tpmv2,
    /// Tang servers in the network.
    Tang,
}
