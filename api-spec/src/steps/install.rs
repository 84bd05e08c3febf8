//! `install`: write the disk and become a node. Source: docs/protocol/instructions.md#3 D.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

/// Everything that an installation needs to know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstallRequest {
    #[serde(deserialize_with = "null_as_default")]
    pub infra_env_id: String,
    /// The cluster to join.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_id: String,
    #[serde(deserialize_with = "null_as_default")]
    pub host_id: String,
    /// `master`, `worker`, `arbiter` or `bootstrap`.
    #[serde(deserialize_with = "null_as_default")]
    pub role: String,
    /// Id of the disk to write.
    #[serde(deserialize_with = "null_as_default")]
    pub boot_device: String,
    /// Image reference.
    #[serde(deserialize_with = "null_as_default")]
    pub controller_image: String,
    /// Image reference.
    #[serde(deserialize_with = "null_as_default")]
    pub installer_image: String,
    /// Absent for imported clusters.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub control_plane_count: i64,
    /// True waits for the cluster version operator.
    #[serde(deserialize_with = "null_as_default")]
    pub check_cvo: bool,
    #[serde(deserialize_with = "null_as_default")]
    pub disks_to_format: Vec<String>,
    /// Day-1 only.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub mco_image: String,
    /// Day-1 only.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub must_gather_image: String,
    /// Day-1 only.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub openshift_version: String,
    /// Only when the boot device is persistent.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub coreos_image: String,
    /// JSON array of arguments of coreos-installer.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub installer_args: String,
    /// True keeps partitions.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub skip_installation_disk_cleanup: bool,
    /// True saves one reboot.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub enable_skip_mco_reboot: bool,
    /// True notifies of reboots.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub notify_num_reboots: bool,
    /// Only with an http(s) proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<InstallProxy>,
    /// Legacy, null.
    pub service_ips: Option<Vec<String>>,
}

/// The proxy of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstallProxy {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub http_proxy: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub https_proxy: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub no_proxy: String,
}
