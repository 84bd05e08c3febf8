//! InfraEnvs on the wire. Source: docs/protocol/rest-schemas.json, docs/protocol/rest-behaviour.md#4.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::ids::{ClusterId, InfraEnvId};
use crate::serialize::{is_default, null_as_default};

/// Kind of discovery image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ImageType {
    #[default]
    FullIso,
    MinimalIso,
    DisconnectedIso,
}

impl ImageType {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The file name at the end of an image URL.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::FullIso => "full.iso",
            Self::MinimalIso => "minimal.iso",
            Self::DisconnectedIso => "disconnected.iso",
        }
    }
}

/// A processor architecture as clients send it; `aarch64` is stored and answered as `arm64`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum CpuArchitecture {
    #[default]
    X86_64,
    Aarch64,
    Arm64,
    Ppc64le,
    S390x,
}

impl CpuArchitecture {
    /// As stored: `aarch64` becomes `arm64`.
    pub fn normalized(self) -> Self {
        match self {
            Self::Aarch64 => Self::Arm64,
            other @ (Self::X86_64 | Self::Arm64 | Self::Ppc64le | Self::S390x) => other,
        }
    }

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Proxies of discovered hosts. An empty string clears.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Proxy {
    /// Must be `http://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// `http://` or `https://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// A comma list of domains, addresses and networks, or `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
}

/// Operation on a kernel argument; only `append` is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum KernelArgumentOperation {
    Append,
    Replace,
    Delete,
}

/// One change of the discovery kernel's command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelArgument {
    /// Only `append` is accepted.
    pub operation: KernelArgumentOperation,
    /// No spaces outside double quotes.
    pub value: String,
}

/// Static network configuration of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HostStaticNetworkConfig {
    /// nmstate YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_yaml: Option<String>,
    /// MAC address of an interface name in the YAML.
    #[serde(deserialize_with = "null_as_default")]
    pub mac_interface_map: Vec<MacInterface>,
}

/// A network card by its MAC, and the logical name it has in the YAML.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MacInterface {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_nic_name: Option<String>,
}

/// Has the form of a pull secret and opens nothing.
pub fn no_pull_secret() -> String {
    r#"{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"}}}"#.into()
}

/// Erasure of the disks of a host that leaves a cluster, before it is available again. An addition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Cleaning {
    pub depth: CleaningDepth,
    /// Only with `full`: zeros are written over all sectors, even where the disk has a command of its own.
    #[serde(skip_serializing_if = "is_default")]
    pub overwrite: bool,
    /// The other disks of the host, too, which no installation wrote to: except those that a user protects, removable ones, and those that
    /// several hosts may share.
    #[serde(skip_serializing_if = "is_default")]
    pub all_disks: bool,
}

/// How thoroughly disks are erased.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CleaningDepth {
    /// Partition tables, signatures, and the places of keys and seeds that an installation wrote.
    #[default]
    Metadata,
    /// All sectors.
    Full,
    /// Nothing is erased.
    None,
}

impl CleaningDepth {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Body of `POST /v2/infra-envs`. `null` is the same as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InfraEnvCreateParams {
    pub name: String,
    /// An addition: may be left out, as discovery pulls nothing ([`no_pull_secret`]).
    #[serde(default = "no_pull_secret")]
    pub pull_secret: String,
    pub additional_ntp_sources: Option<String>,
    pub additional_trust_bundle: Option<String>,
    /// An addition: erasure of the disks of hosts that leave a cluster.
    pub cleaning: Option<Cleaning>,
    pub cluster_id: Option<ClusterId>,
    pub cpu_architecture: Option<CpuArchitecture>,
    pub ignition_config_override: Option<String>,
    pub image_type: Option<ImageType>,
    pub kernel_arguments: Option<Vec<KernelArgument>>,
    pub network_discovery_delay_seconds: Option<i64>,
    pub ntp_sources: Option<String>,
    pub openshift_version: Option<String>,
    pub proxy: Option<Proxy>,
    pub rendezvous_ip: Option<String>,
    /// An addition: hosts prove by a key of their own that they are the ones that registered, and others are refused.
    pub require_host_keys: Option<bool>,
    /// An addition: hosts that no machine takes for so long are switched off by their BMCs, and woken by the next claim: `30m`, `2h`.
    /// Without it, or empty, none sleeps.
    pub idle_after: Option<String>,
    /// An addition: number of hosts that are kept awake for machines to come. Only with `idle_after`.
    pub warm_spares: Option<i64>,
    /// An addition: part of each day, UTC, in which no spares are kept awake: `20:00-06:00`. Only with `idle_after`.
    pub quiet_hours: Option<String>,
    pub ssh_authorized_key: Option<String>,
    pub static_network_config: Option<Vec<HostStaticNetworkConfig>>,
}

/// Body of `PATCH /v2/infra-envs/{id}`. Absent and `null` leave a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct InfraEnvUpdateParams {
    pub additional_ntp_sources: Option<String>,
    pub additional_trust_bundle: Option<String>,
    /// An addition: erasure of the disks of hosts that leave a cluster.
    pub cleaning: Option<Cleaning>,
    pub ignition_config_override: Option<String>,
    pub image_type: Option<ImageType>,
    pub kernel_arguments: Option<Vec<KernelArgument>>,
    pub network_discovery_delay_seconds: Option<i64>,
    pub ntp_sources: Option<String>,
    /// An addition: `NAMESPACE/NAME` of the InfraEnv resource that may take this one over with its hosts, by its annotation
    /// `infraenv.agent-install.openshift.io/adopt`; empty: none may.
    pub offered_to: Option<String>,
    pub openshift_version: Option<String>,
    pub proxy: Option<Proxy>,
    pub pull_secret: Option<String>,
    pub rendezvous_ip: Option<String>,
    /// An addition: hosts prove by a key of their own that they are the ones that registered, and others are refused.
    pub require_host_keys: Option<bool>,
    /// An addition: hosts that no machine takes for so long are switched off by their BMCs, and woken by the next claim: `30m`, `2h`.
    /// Without it, or empty, none sleeps.
    pub idle_after: Option<String>,
    /// An addition: number of hosts that are kept awake for machines to come. Only with `idle_after`.
    pub warm_spares: Option<i64>,
    /// An addition: part of each day, UTC, in which no spares are kept awake: `20:00-06:00`. Only with `idle_after`.
    pub quiet_hours: Option<String>,
    pub ssh_authorized_key: Option<String>,
    pub static_network_config: Option<Vec<HostStaticNetworkConfig>>,
}

/// An InfraEnv as the API answers it: never with the pull secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InfraEnv {
    pub kind: String,
    pub id: InfraEnvId,
    pub href: String,
    pub name: String,
    #[serde(rename = "type")]
    pub image_type: ImageType,
    pub cpu_architecture: CpuArchitecture,
    #[serde(default, skip_serializing_if = "is_default")]
    pub openshift_version: String,
    pub user_name: String,
    pub email_domain: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    pub proxy: Proxy,
    #[serde(default, skip_serializing_if = "is_default")]
    pub additional_ntp_sources: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ntp_sources: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ssh_authorized_key: String,
    pub pull_secret_set: bool,
    /// JSON text of the list.
    #[serde(default, skip_serializing_if = "is_default")]
    pub static_network_config: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub rendezvous_ip: String,
    /// An addition.
    #[serde(default, skip_serializing_if = "is_default")]
    pub require_host_keys: bool,
    /// An addition; absent: the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cleaning: Cleaning,
    /// An addition: time after which hosts that no machine takes are switched off; empty: never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub idle_after: String,
    /// An addition: hosts that are kept awake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_spares: Option<i64>,
    /// An addition: part of each day, UTC, without such hosts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub quiet_hours: String,
    /// An addition: `NAMESPACE/NAME` of the InfraEnv resource that may take this one over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offered_to: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignition_config_override: String,
    /// JSON text of the list of [`KernelArgument`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_arguments: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub additional_trust_bundle: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_discovery_delay_seconds: Option<i64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub size_bytes: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub download_url: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub generator_version: String,
    pub created_at: String,
    pub updated_at: String,
    /// The zero date where the URL does not expire.
    pub expires_at: String,
}

/// Answer of `image-url` and `files-presigned`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PresignedUrl {
    pub url: String,
    /// The zero date when it does not expire.
    pub expires_at: String,
}
