//! Hosts as a search over all InfraEnvs returns them, and records of all kinds that one text finds. Additions to the protocol.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::host::{HostRole, HostStage, HostStatus};
use crate::ids::{ClusterId, HostId, InfraEnvId};
use crate::serialize::is_default;

/// A part of the hosts that fit a query, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundHosts {
    pub hosts: Vec<FoundHost>,
    /// For `after`, to get the next part; absent with the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Number of hosts that fit the query.
    pub total: usize,
    /// Number of hosts that the caller may see.
    pub visible: usize,
    /// Counts by value, among the hosts that fit.
    #[serde(default)]
    pub facets: Vec<HostFacet>,
    /// The terms of the query, each in its canonical form.
    #[serde(default)]
    pub terms: Vec<String>,
    /// If no host fits: the hosts that each term of the query removes.
    #[serde(default)]
    pub removals: Vec<TermRemoval>,
    /// The place in the stream of changes (`after` there) that this list shows.
    pub revision: String,
    /// Time of the answer, from which ages count. RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
}

/// A host in short. Fields are absent while their value is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundHost {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    /// Name of the InfraEnv.
    pub infra_env: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_id: Option<ClusterId>,
    /// Name of the cluster.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster: String,
    /// The name that it is installed with, else the requested or the reported one, else its id.
    pub name: String,
    pub status: HostStatus,
    /// The reason for the status.
    pub reason: String,
    /// `falling-asleep`, `asleep`, `waking` or `did-not-wake`; absent: it is awake. The status is that of its pool nevertheless.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sleep: String,
    /// Last change of the status. RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub since: String,
    /// Of the installation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stage: Option<HostStage>,
    /// Of the installation, 0 to 100.
    #[serde(default, skip_serializing_if = "is_default")]
    pub percentage: u8,
    pub role: HostRole,
    /// Absent: it has no Agent, and needs no approval.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approved: Option<bool>,
    /// Of its node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub labels: BTreeMap<String, String>,
    /// Kinds of findings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub findings: Vec<String>,
    /// Ids of checks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed_checks: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait: Option<HostWait>,
    /// Last poll, or registration. RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub seen_at: String,
    /// Last registration. RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub registered_at: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub agent_version: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub bmc: Option<HostBmc>,
    /// Absent before the first inventory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hardware: Option<HostHardware>,
}

/// Something that a host waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostWait {
    /// A part of a sentence, such as `the node to reboot into discovery`.
    pub what: String,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub since: String,
    /// RFC 3339 with milliseconds; absent: it has no limit.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub until: Option<String>,
    /// Consequence of its end, a part of a sentence, such as `somebody must boot the host`; empty: it has no limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub then: String,
    /// Advice, a sentence without its full stop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub what_to_do: String,
}

/// A BMC that discovers a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostBmc {
    pub name: String,
    /// Host name or address.
    pub address: String,
    /// As the BMC reported it last: `On`, `Off` or another word.
    #[serde(default, skip_serializing_if = "is_default")]
    pub power: String,
}

/// Hardware and network of a host, from its inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostHardware {
    #[serde(default, skip_serializing_if = "is_default")]
    pub vendor: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub model: String,
    /// Of the machine.
    #[serde(default, skip_serializing_if = "is_default")]
    pub serial: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cpu_threads: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory_bytes: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub disks: Vec<HostDisk>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub gpus: Vec<HostGpus>,
    /// Of the fastest network card, Mbit/s.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nic_speed_mbps: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub macs: Vec<String>,
    /// Without prefix lengths.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ips: Vec<String>,
    /// Switch ports at the other ends of its cables, by LLDP.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ports: Vec<HostSwitchPort>,
    /// VLANs of these ports.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vlans: Vec<u16>,
    /// Address of its management controller, as the machine itself reports it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bmc_address: String,
    /// `bios` or `uefi`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub firmware: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub secure_boot: Option<bool>,
}

/// A disk of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostDisk {
    pub bytes: u64,
    /// As in the inventory, in lower case.
    #[serde(rename = "type")]
    pub drive_type: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub serial: String,
}

// The service also stores this and the next one, in summaries of inventories (`host_summaries`): other fields are another form of these.

/// The GPUs of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostGpus {
    pub model: String,
    pub count: u32,
}

/// A port of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostSwitchPort {
    pub switch: String,
    pub port: String,
}

/// Counts by the values of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostFacet {
    /// A key of queries.
    pub key: String,
    /// The most frequent ones, most frequent first.
    pub values: Vec<FacetCount>,
    /// Number of further values.
    pub left_out: usize,
    /// Hosts without a value.
    pub unknown: usize,
}

/// The hosts with one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FacetCount {
    pub value: String,
    /// The id of the InfraEnv (`pool`) or cluster that has the value as its name: several may have one name. Absent for other keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub hosts: usize,
    /// The term of a query that these hosts fit.
    pub term: String,
}

/// The share of one term in an empty result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TermRemoval {
    pub term: String,
    /// Hosts that do not fit it.
    pub removes: usize,
    /// Hosts that would fit the query without it.
    pub removes_alone: usize,
}

/// Records of all kinds that fit a text, the best first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundRecords {
    /// Those that are the text (by id, name, serial number or address), then those that begin with it, then those that have its words in them;
    /// at most 20.
    pub records: Vec<FoundRecord>,
    /// Number of all that fit.
    pub total: usize,
}

/// A record in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundRecord {
    pub kind: FoundKind,
    #[cfg_attr(feature = "openapi", schema(format = "uuid"))]
    pub id: String,
    /// Of a host and of a BMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
    pub name: String,
    /// State, InfraEnv, model, serial number or address: values that distinguish it from others of its name.
    pub detail: String,
}

/// The kind of a record. Those of which there are fewer are first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum FoundKind {
    InfraEnv,
    Cluster,
    Host,
    Bmc,
}

impl FoundKind {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
