//! `download-boot-artifacts` and `reboot-for-reclaim`: these return an installed node to its InfraEnv.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DownloadBootArtifactsRequest {
    /// URL of the kernel.
    #[serde(deserialize_with = "null_as_default")]
    pub kernel_url: String,
    /// URL of the root file system; becomes a kernel argument.
    #[serde(deserialize_with = "null_as_default")]
    pub rootfs_url: String,
    /// URL of the initrd.
    #[serde(deserialize_with = "null_as_default")]
    pub initrd_url: String,
    /// Path at which the file system of the node is mounted.
    #[serde(deserialize_with = "null_as_default")]
    pub host_fs_mount_dir: String,
    /// The whole kernel line, in order, of an image that is not CoreOS; our addition. Empty: CoreOS's own.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub kernel_arguments: Vec<String>,
    /// SHA-256 of the kernel, hexadecimal; our addition. Empty: not known.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub kernel_sha256: String,
    /// SHA-256 of the initrd, hexadecimal; our addition. Empty: not known.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub initrd_sha256: String,
}

/// Argument of `reboot-for-reclaim`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RebootForReclaimRequest {
    /// Path at which the file system of the node is mounted.
    #[serde(deserialize_with = "null_as_default")]
    pub host_fs_mount_dir: String,
}
