//! Defines the configuration of a live image: the service writes it into the image, the agent reads it at boot.
//!
//! It is in an uncompressed newc cpio archive (an extra initrd) as [`CONFIG_PATH`], inside the
//! area that the ISO reserves for it (see `muster-image`). The only secret in it is the agent's token,
//! which opens one InfraEnv and nothing else.

pub mod network;

use serde::{Deserialize, Serialize};

use self::network::StaticNetwork;
use crate::ids::InfraEnvId;
use crate::serialize::{is_default, null_as_default};
use crate::time::Timestamp;

/// Path of the configuration in the booted system. Its directory entry precedes it in the archive.
pub const CONFIG_PATH: &str = "/muster/config.json";

/// The format that this code writes and reads. Raise it when an older agent would do wrong with a newer file.
pub const CONFIG_VERSION: u32 = 1;

/// Kernel arguments with the same settings as the file, for users who boot the image by hand; they win over it.
pub mod kernel_arguments {
    /// `muster.url=https://...`
    pub const URL: &str = "muster.url";
    /// `muster.infra_env_id=<uuid>`
    pub const INFRA_ENV_ID: &str = "muster.infra_env_id";
    /// `muster.token=...`
    pub const TOKEN: &str = "muster.token";
    /// `muster.rescue` (no value): a rescue shell on the consoles.
    pub const RESCUE: &str = "muster.rescue";
}

/// URL of the service, its credentials, and proxies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveConfig {
    /// [`CONFIG_VERSION`] of the writer.
    pub version: u32,
    /// Base URL of the service, without `/api/assisted-install`.
    pub service_url: String,
    pub infra_env_id: InfraEnvId,
    /// The InfraEnv's name, for the console screen.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub infra_env_name: String,
    /// The agent's token; absent when the service requires none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// PEM certificates to trust in addition to the public ones: the service's own CA and the InfraEnv's trust bundle.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub ca_certificates: String,
    /// Proxy to the service.
    #[serde(default, skip_serializing_if = "is_default")]
    pub proxy: LiveProxy,
    /// Time sources, names or addresses; those of DHCP are used, too.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub ntp_sources: Vec<String>,
    /// Networks of machines without DHCP and router advertisements; each machine takes the one that names a card of its own.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub networks: Vec<StaticNetwork>,
    /// Public keys, each a line of `authorized_keys`, that may log in to the live image. Without any no SSH server runs.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "null_as_default"
    )]
    pub ssh_authorized_keys: Vec<String>,
    /// When the InfraEnv was created: a clock that shows an earlier time is wrong. It never changes, so that the same image has the
    /// same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// Proxies as in the environment variables of the same names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveProxy {
    #[serde(skip_serializing_if = "is_default")]
    pub http_proxy: String,
    #[serde(skip_serializing_if = "is_default")]
    pub https_proxy: String,
    #[serde(skip_serializing_if = "is_default")]
    pub no_proxy: String,
}
