//! Finds the Agent of a machine: among the Agents of its InfraEnv that report its MAC address, the newest. Source:
//! docs/protocol/kube-controllers.md#7 (match).
//!
//! A MAC address is a claim of a machine. So only Agents of the InfraEnv that the BareMetalHost names are considered, and the Agent
//! that was found first stays while its host polls or is in a cluster (there, any in the namespace is taken, the newest each time).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{Resource, ResourceExt};
use muster_controller::references::kube_ref;
use muster_core::record::KubeRef;
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::label;
use muster_resources::{Agent, AgentDebugInfo, Condition, HostProgress};
use serde::Deserialize;

use crate::infra_env;

/// Reason of the condition `Bound` of a host that is in no cluster, and is not being moved into one or out of one.
const UNBOUND: &str = "Unbound";

/// The parts of an Agent that identify its machine, and those on which its BareMetalHost depends.
#[derive(Debug, Clone, Deserialize, Resource)]
#[resource(inherit = "Agent")]
#[serde(from = "Read")]
pub struct AgentView {
    metadata: ObjectMeta,
    said: Said,
}

/// The parts of an Agent on which a BareMetalHost depends.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    /// MAC addresses in lower case.
    macs: Vec<String>,
    /// Changes with the spec.
    generation: Option<i64>,
    stage: Option<String>,
    state: Option<String>,
    bound: Option<Condition>,
    is_heard: bool,
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
                is_heard: status
                    .conditions
                    .iter()
                    .any(|one| one.type_ == "Connected" && one.status == "True"),
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
    /// True when no BareMetalHost needs to be reconciled for the difference.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        self.said == other.said
            && self.labels() == other.labels()
            && self.metadata.deletion_timestamp == other.metadata.deletion_timestamp
    }

    /// True if this is the Agent of the machine of `host`, or is labelled as such.
    pub fn is_of(&self, host: &BareMetalHost) -> bool {
        self.namespace() == host.namespace()
            && (self.has_mac(&host.spec.boot_mac_address)
                || self.labels().get(label::HOST) == Some(&host.name_any()))
    }

    fn has_mac(&self, mac: &str) -> bool {
        !mac.is_empty() && self.said.macs.iter().any(|one| one.eq_ignore_ascii_case(mac))
    }

    /// True when the Agent reports the MAC address of `host`, in its namespace.
    fn claims(&self, host: &BareMetalHost) -> bool {
        self.namespace() == host.namespace() && self.has_mac(&host.spec.boot_mac_address)
    }

    /// True when the Agent was found for `host` before, and no other may take its place. It has no inventory while its host is moved
    /// between clusters.
    fn is_kept_by(&self, host: &BareMetalHost) -> bool {
        let bound = self.said.bound.as_ref();
        let is_in_cluster =
            bound.is_some_and(|bound| bound.status == "True" || bound.reason.as_deref() != Some(UNBOUND));
        self.namespace() == host.namespace()
            && self.labels().get(label::HOST) == Some(&host.name_any())
            && (self.said.macs.is_empty() || self.has_mac(&host.spec.boot_mac_address))
            && (self.said.is_heard || is_in_cluster)
    }

    fn age(&self) -> (Option<Time>, String) {
        (self.creation_timestamp(), self.name_any())
    }
}

/// Returns the Agent of `host`. A machine that was booted again by another InfraEnv has an older one, too.
pub fn agent_of<'a, V: AsRef<AgentView>>(
    host: &BareMetalHost,
    agents: impl IntoIterator<Item = &'a V>,
) -> Option<&'a V> {
    let infra_env = infra_env::of(host);
    let fits = |agent: &AgentView| {
        agent.is_kept_by(host) || (agent.claims(host) && infra_env::of(agent) == infra_env)
    };
    let fitting = agents.into_iter().filter(|agent| fits((*agent).as_ref()));
    fitting.max_by_key(|agent| {
        let agent = (*agent).as_ref();
        (agent.is_kept_by(host), agent.age())
    })
}

/// Returns Agents other than the one called `chosen` that report the MAC address of `host`, while their machines poll.
pub fn claimants<'a, V: AsRef<AgentView> + 'a>(
    host: &BareMetalHost,
    chosen: Option<&str>,
    agents: impl IntoIterator<Item = &'a V>,
) -> Vec<KubeRef> {
    let agents = agents.into_iter().map(AsRef::as_ref);
    let others = agents.filter(|agent| {
        Some(agent.name_any().as_str()) != chosen && agent.said.is_heard && agent.claims(host)
    });
    let mut named: Vec<KubeRef> = others.map(kube_ref).collect();
    named.sort();
    named
}

/// Returns another BareMetalHost with the MAC of `host` that was created before it: two would take their Agent from each other for ever.
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
