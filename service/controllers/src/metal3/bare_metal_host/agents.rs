//! Finds the Agent of a machine: the newest in its namespace that has its MAC address. Source: docs/protocol/kube-controllers.md#7
//! (match).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::label;
use muster_resources::{Agent, AgentDebugInfo, Condition, HostProgress};
use serde::Deserialize;

use crate::metal3::infra_env;

/// The part of an Agent that tells whose machine it is, and that something of it changed which its BareMetalHost is to know.
#[derive(Debug, Clone, Deserialize, Resource)]
#[resource(inherit = "Agent")]
#[serde(from = "Read")]
pub struct AgentView {
    metadata: ObjectMeta,
    said: Said,
}

/// What an Agent says, as far as a BareMetalHost follows from it.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    /// In small letters.
    macs: Vec<String>,
    /// Changes with the spec.
    generation: Option<i64>,
    stage: Option<String>,
    state: Option<String>,
    bound: Option<Condition>,
    disks: Vec<(String, Option<bool>)>,
}

#[derive(Deserialize)]
struct Read {
    metadata: ObjectMeta,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
    progress: Option<HostProgress>,
    debug_info: Option<AgentDebugInfo>,
    inventory: Option<Inventory>,
}

#[derive(Default, Deserialize)]
struct Inventory {
    #[serde(default)]
    interfaces: Vec<Interface>,
    #[serde(default)]
    disks: Vec<Disk>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Interface {
    mac_address: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Disk {
    #[serde(default)]
    id: String,
    installation_eligibility: Option<Eligibility>,
}

#[derive(Deserialize)]
struct Eligibility {
    eligible: Option<bool>,
}

impl From<Read> for AgentView {
    fn from(read: Read) -> Self {
        let status = read.status.unwrap_or_default();
        let inventory = status.inventory.unwrap_or_default();
        let macs = inventory.interfaces.into_iter();
        let disks = inventory.disks.into_iter();
        let mut metadata = read.metadata;
        // Annotations hold whole inventories.
        (metadata.managed_fields, metadata.annotations) = (None, None);
        Self {
            said: Said {
                macs: macs
                    .filter_map(|one| one.mac_address)
                    .map(|mac| mac.to_ascii_lowercase())
                    .collect(),
                generation: metadata.generation,
                stage: status.progress.and_then(|progress| progress.current_stage),
                state: status.debug_info.and_then(|info| info.state),
                bound: status.conditions.into_iter().find(|one| one.type_ == "Bound"),
                disks: disks
                    .map(|disk| (disk.id, disk.installation_eligibility.and_then(|it| it.eligible)))
                    .collect(),
            },
            metadata,
        }
    }
}

impl AgentView {
    /// True when no BareMetalHost needs to look at it again.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        self.said == other.said
            && self.labels() == other.labels()
            && self.metadata.deletion_timestamp == other.metadata.deletion_timestamp
    }

    /// True when it is the Agent of this machine, or was said to be.
    pub fn is_of(&self, host: &BareMetalHost) -> bool {
        self.namespace() == host.namespace()
            && (self.has_mac(&host.spec.boot_mac_address)
                || self.labels().get(label::HOST) == Some(&host.name_any()))
    }

    fn has_mac(&self, mac: &str) -> bool {
        !mac.is_empty() && self.said.macs.iter().any(|one| one.eq_ignore_ascii_case(mac))
    }
}

/// The Agent of `host`: of those with its MAC, the newest. A machine that was booted anew by another InfraEnv has an older one, too.
pub fn newest_of<'a, V: AsRef<AgentView>>(
    host: &BareMetalHost,
    agents: impl IntoIterator<Item = &'a V>,
) -> Option<&'a V> {
    agents
        .into_iter()
        .filter(|agent| {
            let agent = agent.as_ref();
            agent.namespace() == host.namespace() && agent.has_mac(&host.spec.boot_mac_address)
        })
        .max_by_key(|agent| {
            let agent = agent.as_ref();
            (agent.creation_timestamp(), agent.name_any())
        })
}

/// Another BareMetalHost with the MAC of `host` that was there before it: two would take their Agent from each other for ever.
pub fn elder_of<'a, H: AsRef<BareMetalHost> + 'a>(
    host: &BareMetalHost,
    all: impl IntoIterator<Item = &'a H>,
) -> Option<&'a BareMetalHost> {
    let mac = host.spec.boot_mac_address.as_str();
    let age = |host: &BareMetalHost| (host.creation_timestamp(), host.name_any());
    all.into_iter().map(AsRef::as_ref).find(|other| {
        !mac.is_empty()
            && other.spec.boot_mac_address.eq_ignore_ascii_case(mac)
            && other.namespace() == host.namespace()
            && infra_env::of(*other).is_some()
            && age(other) < age(host)
    })
}

impl AsRef<Self> for AgentView {
    fn as_ref(&self) -> &Self {
        self
    }
}
