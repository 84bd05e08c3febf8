//! The documents of a host.

use std::collections::BTreeMap;

use muster_api::fingerprint::Fingerprint;
use muster_api::host::{
    HostFinding, HostKind, HostOsImage, HostRole, HostStage, LogsProgressState, MediaStatus,
};
use muster_api::ids::HostId;
use muster_api::steps::{
    ApiVipConnectivityResponse, ConnectivityReport, ContainerImageAvailability, DiskInfo,
    DomainResolutionResponse, FreeNetworkAddresses, NtpSource,
};
use muster_api::time::Timestamp;
use muster_api::validation::ValidationsInfo;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::cleaning::{Cleaned, Cleaning, WrittenDisk};
use super::failures::Failures;
use super::health::{HardwareParts, HardwareSize, Health};
use super::image_wish::ImageWish;
use super::installed_as::InstalledAs;
use super::peer::Sees;
use super::requests::logs::AskedLogs;
use super::requests::reboot::AskedReboot;
use super::requests::reinstall::{AskedReinstall, ReinstallStep};
use super::secret::Secret;
use super::sleep::{KeptAwake, Sleep, SleepFailed, Waking};

/// The part of a host that is stored as one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostData {
    #[serde(default)]
    pub kind: HostKind,
    /// The reason for the status, for users; at most 2040 bytes.
    pub status_info: String,
    /// Last change of the status.
    pub status_updated_at: Timestamp,
    /// First registration.
    pub created_at: Timestamp,
    /// Last change of anything.
    pub updated_at: Timestamp,
    /// Last registration.
    pub registered_at: Timestamp,
    #[serde(default)]
    pub discovery_agent_version: String,
    /// A user's choice of name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_hostname: Option<String>,
    /// The name in the last inventory; empty: none yet. It outlives the inventory, which a move between clusters
    /// clears. It is also stored in a column of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reported_hostname: String,
    /// A user's choice of role.
    #[serde(default)]
    pub role: HostRole,
    /// The service's suggestion.
    #[serde(default)]
    pub suggested_role: HostRole,
    /// `disk.id` of the disk to install to.
    #[serde(default)]
    pub installation_disk_id: String,
    /// Its `/dev` name.
    #[serde(default)]
    pub installation_disk_path: String,
    /// `disk.id` of the disk that a user chose; empty: the choice is the service's. No other takes its place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub requested_disk_id: String,
    /// Ids of disks that an installation would format.
    #[serde(default)]
    pub disks_to_be_formatted: Vec<String>,
    /// Ids of disks to leave unchanged, a user's choice.
    #[serde(default)]
    pub skip_formatting_disks: Vec<String>,
    /// State of the host's time sources, as it reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ntp_sources: Option<Vec<NtpSource>>,
    /// The host's clock at its last stored poll, seconds since 1970; 0 if never reported.
    #[serde(default)]
    pub timestamp: i64,
    /// Time at which `timestamp` was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp_at: Option<Timestamp>,
    /// Readability of the boot medium; `None` when never reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_status: Option<MediaStatus>,
    #[serde(default)]
    pub validations: ValidationsInfo,
    /// The agent on the disk, which brings the node back to its InfraEnv.
    #[serde(default, skip_serializing_if = "NodeAgent::is_absent")]
    pub node_agent: NodeAgent,
    /// It waits for a boot into the discovery image, and may come back without one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub comes_back: bool,
    /// The action of its BMC for a boot that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc_boot: Option<BmcBoots>,
    /// It was switched off by its BMC and stays in its pool; `None`: it is awake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
    /// The last attempt to put it to sleep, if that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_failed: Option<SleepFailed>,
    #[serde(default, skip_serializing_if = "KeptAwake::is_none")]
    pub kept_awake: KeptAwake,
    /// True when the host has bootstrap data of its own ([`Host::bootstrap_ignition`](super::Host)), which polls do not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_bootstrap_ignition: bool,
    /// The image that a controller requests for its disk; goes with its cluster.
    #[serde(default, skip_serializing_if = "ImageWish::is_empty")]
    pub image_wish: ImageWish,
    /// The entry of the operator's list that is chosen for its disk; that of the request since the installation was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_image: Option<HostOsImage>,
    /// Labels for the node, in the order given.
    #[serde(default)]
    pub node_labels: Vec<(String, String)>,
    /// Pool of the machine config server that the host takes its ignition from.
    #[serde(default)]
    pub machine_config_pool_name: String,
    /// Bearer token for the ignition endpoint.
    #[serde(default)]
    pub ignition_endpoint_token: Secret,
    /// Headers for the ignition endpoint.
    #[serde(default)]
    pub ignition_endpoint_http_headers: Vec<(String, String)>,
    /// The agent's own reasons against disks, in the order of `inventory.disks`. The inventory holds these and the
    /// service's reasons, which are computed each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_disk_reasons: Vec<Vec<String>>,
    /// Its Agent is approved. Only of hosts whose InfraEnv belongs to a custom resource.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// The size of its hardware when it was approved, or with its first inventory after that; `None`: it is not approved, or was approved
    /// by a release without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_size: Option<HardwareSize>,
    /// The parts of its last inventory, from the end of the boot that reported that to the first inventory of the next one that has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts_before: Option<HardwareParts>,
    /// The reports of its sensors, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Only day-1: the host that starts a new cluster.
    #[serde(default)]
    pub bootstrap: bool,
    /// `None` before the installation begins.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "none_if_unreadable"
    )]
    pub progress: Option<Progress>,
    /// Installations and nodes that failed on it since its last success; `None`: none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Failures>,
    /// Disks that installations wrote to, and that were not erased since, with the disk of the present installation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written_disks: Vec<WrittenDisk>,
    /// The erasure of its disks after it left a cluster; `None`: none is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleaning: Option<Cleaning>,
    /// Erasures that are over, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleaned: Vec<Cleaned>,
    /// Name and addresses of its node; `None` before the installation is requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed_as: Option<InstalledAs>,
    #[serde(default)]
    pub logs: LogsState,
    /// The last request of an operator for the host's logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_logs: Option<AskedLogs>,
    /// The last request to reboot the installed host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_reboot: Option<AskedReboot>,
    /// The last request to install the node again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_reinstall: Option<AskedReinstall>,
    /// Arguments for coreos-installer, a user's choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub installer_args: Vec<String>,
    /// A user's Ignition JSON that is merged into the host's; may hold secrets.
    #[serde(default)]
    pub ignition_config_overrides: Secret,
    /// Image that installs.
    #[serde(default)]
    pub installer_version: String,
    /// By image reference.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub images_status: BTreeMap<String, ContainerImageAvailability>,
    /// By disk id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disks_info: BTreeMap<String, DiskInfo>,
    /// Results of DNS lookups on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain_name_resolutions: Option<DomainResolutionResponse>,
    /// Result of the download of the cluster's ignition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_vip_connectivity: Option<ApiVipConnectivityResponse>,
    /// Reachability of tang servers: the reply as JSON text, or the error's text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tang_connectivity: String,
    /// The machine's own ids, as our agent reported them at registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Public part of the key by which the machine proves that it is the one that registered, hexadecimal; empty: it
    /// has none. Only our agents have one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub public_key: String,
    /// Noteworthy facts beyond the protocol's validations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<HostFinding>,
    /// Hosts with which it shares a computed id, as an operator has confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled_with: Vec<HostId>,
    /// The part of `reports` that concerns others ([`crate::rules::findings::sees`]), kept here so that others need not read the reports.
    #[serde(default, skip_serializing_if = "Sees::is_empty")]
    pub sees: Sees,
}

impl HostData {
    /// The role given by a user, else the one suggested.
    pub fn effective_role(&self) -> HostRole {
        match self.role {
            HostRole::AutoAssign => self.suggested_role,
            given @ (HostRole::Master | HostRole::Arbiter | HostRole::Worker | HostRole::Bootstrap) => given,
        }
    }

    /// Replaces the findings of `kind`; `None`: there is none any more.
    pub(crate) fn set_finding(&mut self, kind: &str, finding: Option<HostFinding>) {
        let of_kind = self.findings.iter().filter(|known| known.kind == kind);
        if of_kind.eq(&finding) {
            return;
        }
        self.findings.retain(|known| known.kind != kind);
        self.findings.extend(finding);
        self.findings.sort();
    }

    /// True while an operator waits for the host's logs.
    pub fn awaits_logs(&self) -> bool {
        self.asked_logs
            .as_ref()
            .is_some_and(|asked| asked.outcome.is_none())
    }

    /// The request to reboot the host that waits to be carried out.
    pub fn pending_reboot(&self) -> Option<&AskedReboot> {
        self.asked_reboot.as_ref().filter(|asked| asked.is_pending())
    }

    /// The request to install the node again that is being carried out.
    pub fn pending_reinstall(&self) -> Option<&AskedReinstall> {
        self.asked_reinstall.as_ref().filter(|asked| asked.is_pending())
    }

    /// The step of that request; `None`: there is none.
    pub fn reinstall_step(&self) -> Option<ReinstallStep> {
        self.pending_reinstall().map(|asked| asked.step)
    }

    /// The data of a host that registers at `at`.
    pub fn new(at: Timestamp) -> Self {
        Self {
            kind: HostKind::Host,
            status_info: String::new(),
            status_updated_at: at,
            created_at: at,
            updated_at: at,
            registered_at: at,
            discovery_agent_version: String::new(),
            requested_hostname: None,
            reported_hostname: String::new(),
            role: HostRole::AutoAssign,
            suggested_role: HostRole::AutoAssign,
            installation_disk_id: String::new(),
            installation_disk_path: String::new(),
            requested_disk_id: String::new(),
            disks_to_be_formatted: Vec::new(),
            skip_formatting_disks: Vec::new(),
            ntp_sources: None,
            timestamp: 0,
            timestamp_at: None,
            media_status: None,
            validations: ValidationsInfo::new(),
            node_agent: NodeAgent::Absent,
            comes_back: false,
            bmc_boot: None,
            sleep: None,
            sleep_failed: None,
            kept_awake: KeptAwake::default(),
            has_bootstrap_ignition: false,
            image_wish: ImageWish::default(),
            os_image: None,
            node_labels: Vec::new(),
            machine_config_pool_name: String::new(),
            ignition_endpoint_token: Secret::default(),
            ignition_endpoint_http_headers: Vec::new(),
            agent_disk_reasons: Vec::new(),
            approved: false,
            approved_size: None,
            parts_before: None,
            health: None,
            bootstrap: false,
            progress: None,
            failures: None,
            written_disks: Vec::new(),
            cleaning: None,
            cleaned: Vec::new(),
            installed_as: None,
            logs: LogsState::default(),
            asked_logs: None,
            asked_reboot: None,
            asked_reinstall: None,
            installer_args: Vec::new(),
            ignition_config_overrides: Secret::default(),
            installer_version: String::new(),
            images_status: BTreeMap::new(),
            disks_info: BTreeMap::new(),
            domain_name_resolutions: None,
            api_vip_connectivity: None,
            tang_connectivity: String::new(),
            fingerprint: None,
            public_key: String::new(),
            findings: Vec::new(),
            settled_with: Vec::new(),
            sees: Sees::default(),
        }
    }

    /// `None`: it is not being woken.
    pub fn waking(&self) -> Option<&Waking> {
        self.sleep.as_ref()?.waking()
    }

    /// True while its BMC boots it.
    pub fn is_booted_by_bmc(&self) -> bool {
        let boots = self.bmc_boot.as_ref();
        boots.is_some_and(|boots| boots.failure.is_none())
    }
}

/// A BMC that brings a host back which waits for a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BmcBoots {
    /// Its name.
    pub bmc: String,
    /// The reason why it did not boot the host; `None`: it is doing so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The agent on the disk of a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeAgent {
    /// None, as far as is known.
    #[default]
    Absent,
    /// Put there by the installation.
    Installed,
    /// It could not bring the node back: a user has to boot the host.
    GaveUp,
}

impl NodeAgent {
    pub fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

/// An unreadable progress is dropped, so that the host itself can still be read.
fn none_if_unreadable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Progress>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}

/// Progress of an installation. Source: docs/protocol/host-lifecycle.md#5.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub stage: HostStage,
    /// 0 to 100.
    pub percentage: i64,
    /// As reported: often a percentage of the stage.
    #[serde(default)]
    pub info: String,
    pub stage_started_at: Timestamp,
    /// Time of the last report about the stage.
    pub stage_updated_at: Timestamp,
}

/// State of the log collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogsState {
    pub info: LogsProgressState,
    /// Time of the request.
    pub started_at: Option<Timestamp>,
    /// Time of the last upload.
    pub collected_at: Option<Timestamp>,
}

/// Reports about other hosts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostReports {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connectivity: Option<ConnectivityReport>,
    /// Free addresses, by network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub free_addresses: Vec<FreeNetworkAddresses>,
}
