//! Actions of jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::host::HostRoleUpdate;
use crate::ids::ClusterId;
use crate::serialize::is_default;

/// The action of a job. For each host it does what the operation for one host does, with the same refusals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum JobAction {
    Approve,
    RevokeApproval,
    Bind {
        cluster: ClusterId,
    },
    Unbind,
    Install,
    Role {
        role: HostRoleUpdate,
    },
    /// Of the nodes.
    Labels {
        #[serde(default, skip_serializing_if = "is_default")]
        set: BTreeMap<String, String>,
        /// Keys.
        #[serde(default, skip_serializing_if = "is_default")]
        remove: Vec<String>,
    },
    /// Either a pattern or names.
    Hostname {
        /// With `{n}` (1, 2, ... in the order of the selection; `{n:03}`: 001, 002, ...), `{serial}`, `{switch}`, `{port}` and `{mac}`.
        #[serde(default, skip_serializing_if = "is_default")]
        pattern: Option<String>,
        /// By id or serial number of the host.
        #[serde(default, skip_serializing_if = "is_default")]
        names: BTreeMap<String, String>,
    },
    /// For installation.
    Disk {
        rule: DiskRule,
    },
    Power {
        power: JobPower,
    },
    /// Begins discovery by the host's BMC again.
    Discover,
    /// Requests logs of the hosts.
    Logs,
    Delete,
}

impl JobAction {
    /// The name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::RevokeApproval => "revoke-approval",
            Self::Bind { .. } => "bind",
            Self::Unbind => "unbind",
            Self::Install => "install",
            Self::Role { .. } => "role",
            Self::Labels { .. } => "labels",
            Self::Hostname { .. } => "hostname",
            Self::Disk { .. } => "disk",
            Self::Power { .. } => "power",
            Self::Discover => "discover",
            Self::Logs => "logs",
            Self::Delete => "delete",
        }
    }
}

/// A rule that finds the disk for installation, among those that are allowed for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DiskRule {
    /// The smallest SSD (NVMe as well) of more than so many bytes.
    SmallestSsdAbove { bytes: u64 },
    /// By its path, such as `/dev/sda` or `/dev/disk/by-path/pci-0000:00:1f.2-ata-1`.
    Path { path: String },
    /// By its World Wide Name.
    Wwn { wwn: String },
    /// By id or serial number of the host: the path or the World Wide Name of its disk.
    List {
        #[serde(default, skip_serializing_if = "is_default")]
        disks: BTreeMap<String, String>,
    },
}

/// An action on the power of machines, by their BMCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum JobPower {
    On,
    Off,
    Reset,
}

impl JobPower {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
