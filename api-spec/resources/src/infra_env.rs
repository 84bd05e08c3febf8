//! Defines InfraEnvs: a discovery image, and the hosts that booted it (docs/protocol/kube-controllers.md#1).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;
use crate::{ClusterReference, Condition, LocalReference, NamespacedReference, Proxy, selector};

/// Contents of the image, and settings of the hosts that boot it.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "InfraEnvSpec")]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "InfraEnv",
    plural = "infraenvs",
    namespaced,
    status = "InfraEnvStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A discovery image and the settings that it carries. A machine that boots it registers, and appears as an Agent in the namespace of its InfraEnv.",
    printcolumn(name = "ISO Created At", json_path = ".status.createdTime", type_ = "string"),
    printcolumn(
        name = "ISO URL",
        json_path = ".status.isoDownloadURL",
        type_ = "string",
        priority = 1
    )
)]
pub struct InfraEnvSpec {
    /// The cluster that hosts of this image belong to from the start. Without it they wait, unbound, until their Agent names a cluster. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<ClusterReference>,
    /// Secret in the same namespace with the registries' credentials, under the key `.dockerconfigjson`.
    pub pull_secret_ref: LocalReference,
    /// Public SSH keys, one a line, that may log in to a host while it runs the discovery image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_authorized_key: Option<String>,
    /// Proxy that hosts use while they run the discovery image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Time servers that hosts use in addition to those from DHCP: names or addresses.
    #[serde(
        rename = "additionalNTPSources",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub additional_ntp_sources: Vec<String>,
    /// Time servers that hosts use: names or addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<String>,
    /// Certificates in PEM that hosts trust in addition to the system's own, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_trust_bundle: Option<String>,
    /// Ignition (JSON) that is merged over what the image would have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_config_override: Option<String>,
    /// Arguments of the kernel, in the order in which they are applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<KernelArgument>,
    /// Selects the NMStateConfigs with the network settings that the image carries. Empty selects none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selector::schema")]
    pub nm_state_config_label_selector: Option<LabelSelector>,
    /// Labels that Agents get when they are created. Later changes reach new Agents only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_labels: BTreeMap<String, String>,
    /// Approval of new Agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_approval: Option<AgentApproval>,
    /// Processor architecture of the image, such as `x86_64` or `aarch64`. Cannot be changed.
    #[serde(default = "x86_64")]
    pub cpu_architecture: String,
    /// `full-iso` or `minimal-iso`. Without it the service chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_type: Option<String>,
    /// Version of the operating system in the image. Not together with `clusterRef`, which implies a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_image_version: Option<String>,
    /// Behaviour of the iPXE script when a registered host boots it.
    #[serde(default)]
    pub ipxe_script_type: IpxeScriptType,
    /// ConfigMap with registries to be used in place of others: `registries.conf`, and `ca-bundle.crt` for their certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_registry_ref: Option<NamespacedReference>,
    /// Seconds that a host waits after boot before it inspects its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub network_discovery_delay_seconds: Option<i64>,
    /// Erasure of the disks of a host that leaves a cluster, before its Agent is available again. Without it: of metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleaning: Option<InfraEnvCleaning>,
    /// Hosts that no machine takes for so long are switched off by their BMCs and stay candidates; a claim wakes them: `30m`, `2h`. Without it
    /// none sleeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_after: Option<String>,
    /// Number of hosts that are kept awake for machines to come. Only with `idleAfter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub warm_spares: Option<i64>,
    /// Part of each day, UTC, in which no spares are kept awake: `20:00-06:00`. Only with `idleAfter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<String>,
}
absent_is_default!(InfraEnvSpec);

/// The defaults that the API server fills in.
impl Default for InfraEnvSpec {
    fn default() -> Self {
        Self {
            cluster_ref: None,
            pull_secret_ref: LocalReference::default(),
            ssh_authorized_key: None,
            proxy: None,
            additional_ntp_sources: Vec::new(),
            ntp_sources: Vec::new(),
            additional_trust_bundle: None,
            ignition_config_override: None,
            kernel_arguments: Vec::new(),
            nm_state_config_label_selector: None,
            agent_labels: BTreeMap::new(),
            agent_approval: None,
            cpu_architecture: x86_64(),
            image_type: None,
            os_image_version: None,
            ipxe_script_type: IpxeScriptType::default(),
            mirror_registry_ref: None,
            network_discovery_delay_seconds: None,
            cleaning: None,
            idle_after: None,
            warm_spares: None,
            quiet_hours: None,
        }
    }
}

fn x86_64() -> String {
    "x86_64".to_owned()
}

/// Erasure of the disks of a host that leaves a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfraEnvCleaning {
    /// `metadata` (partition tables, signatures, and the places of keys and seeds that an installation wrote), `full` (all sectors) or
    /// `none`. Without it: `metadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<CleaningDepth>,
    /// Only with `full`: zeros are written over all sectors, even where the disk has a command of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
    /// The other disks of the host, too, which no installation wrote to: except those that a user protects, removable ones, and those that
    /// several hosts may share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_disks: bool,
}

/// How thoroughly disks are erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CleaningDepth {
    /// Partition tables, signatures, and the places of keys and seeds.
    Metadata,
    /// All sectors.
    Full,
    /// Nothing.
    None,
}

/// A change of the kernel's arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelArgument {
    /// Operation on the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<KernelArgumentOperation>,
    /// The argument: text without blanks, except in double quotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r#"^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$"#))]
    pub value: Option<String>,
}

/// Operation on a kernel argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KernelArgumentOperation {
    /// Add at the end.
    Append,
    /// Replace the argument with the same key.
    Replace,
    /// Remove.
    Delete,
}

/// Behaviour of an iPXE script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IpxeScriptType {
    /// Unset: the same as `DiscoveryImageAlways`.
    #[serde(rename = "")]
    Unset,
    /// The script boots the discovery image each time.
    #[default]
    DiscoveryImageAlways,
    /// The script requests from the service whether the host shall boot the image or its disk.
    BootOrderControl,
}

/// Approval of new Agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentApproval {
    /// True: each new Agent of this InfraEnv is approved automatically.
    #[serde(default)]
    pub auto_approve: bool,
}

/// Observed state of the image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfraEnvStatus {
    /// URL of the ISO. It may hold a token: anyone with the URL can download the image.
    #[serde(rename = "isoDownloadURL", skip_serializing_if = "Option::is_none")]
    pub iso_download_url: Option<String>,
    /// Time of the last change of `isoDownloadURL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_time: Option<Time>,
    /// `ImageCreated`: whether the image can be downloaded, and if not, why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Generation of the spec that the conditions are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Selects the Agents of this InfraEnv.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selector::schema")]
    pub agent_label_selector: Option<LabelSelector>,
    /// URLs for troubleshooting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<InfraEnvDebugInfo>,
    /// URLs for machines that boot from the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_artifacts: Option<BootArtifacts>,
}

/// URLs for troubleshooting an InfraEnv.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfraEnvDebugInfo {
    /// URL of the events of the InfraEnv (JSON).
    #[serde(rename = "eventsURL", skip_serializing_if = "Option::is_none")]
    pub events_url: Option<String>,
    /// URL of the network settings that the image carries, if any.
    #[serde(rename = "staticNetworkDownloadURL", skip_serializing_if = "Option::is_none")]
    pub static_network_download_url: Option<String>,
}

/// URLs for booting from the network. Each may hold a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootArtifacts {
    /// URL of the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// URL of the initial RAM disk, with the settings of this InfraEnv in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initrd: Option<String>,
    /// URL of the root file system, which the initial RAM disk downloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<String>,
    /// URL of an iPXE script that boots the three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipxe_script: Option<String>,
    /// URL of the Ignition that the image carries.
    #[serde(rename = "discoveryIgnitionURL", skip_serializing_if = "Option::is_none")]
    pub discovery_ignition_url: Option<String>,
}
