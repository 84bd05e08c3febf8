use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the nodes of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachinePool {
    /// `Enabled` or `Disabled`: whether a processor core works at two things at a time.
    #[serde(default)]
    pub hyperthreading: Hyperthreading,
    /// Name of the pool: `master`, `arbiter` or `worker`.
    pub name: String,
}

/// Whether a processor core works at two things at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Hyperthreading {
    /// Nothing was chosen: as `Enabled`.
    #[serde(rename = "")]
    Unset,
    /// It does.
    #[default]
    Enabled,
    /// It does not.
    Disabled,
}

/// Encryption of the disks that are installed to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskEncryption {
    /// The roles whose disks are encrypted.
    #[serde(default)]
    pub enable_on: DiskEncryptionRoles,
    /// What keeps the key: the machine's own chip (`tpmv2`) or servers in the network (`tang`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<DiskEncryptionMode>,
    /// For `tang`: the servers, each with `url` and `thumbprint`, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tang_servers: Option<String>,
}

/// Roles whose disks are encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
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

/// What keeps the key of an encrypted disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskEncryptionMode {
    /// A chip in the machine.
    Tpmv2,
    /// Servers in the network.
    Tang,
}
