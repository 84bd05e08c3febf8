//! Caches the part of each Agent that the provider needs.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::runtime::reflector::Store;
use muster_api::host::HostStage;
use muster_api::time::Timestamp;
use muster_controller::references::{kube_ref, object_ref};
use muster_core::record::KubeRef;
use muster_core::rules::placement::{Candidate, Erasure, Hardware, PastFailures, Rest};
use muster_resources::names::{annotation, label};
use muster_resources::{Agent, AgentDebugInfo, AgentFailures, AgentSleep, AgentSpec, Condition};
use serde::Deserialize;

/// The annotations that are read.
const KEPT_ANNOTATIONS: [&str; 8] = [
    annotation::AGENT_MACHINE_REF_NAMESPACE,
    annotation::AGENT_OS_IMAGE,
    annotation::AGENT_KUBERNETES_VERSION,
    annotation::ROLE_BEFORE,
    annotation::AGENT_REBOOT_REQUESTED,
    annotation::AGENT_REBOOT,
    annotation::AGENT_REINSTALL_REQUESTED,
    annotation::AGENT_REINSTALL,
];

/// An Agent, without most of its inventory.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(inherit = "Agent")]
#[serde(from = "Read")]
pub struct AgentView {
    metadata: ObjectMeta,
    pub spec: AgentSpec,
    pub conditions: Vec<Condition>,
    /// State of the host; empty while it is not known.
    pub state: String,
    /// Stage of the installation; `None`: none has begun, or it is not known here.
    pub stage: Option<HostStage>,
    /// The name that the host has or will have.
    pub hostname: Option<String>,
    pub interfaces: Vec<Interface>,
    /// Why the host sleeps, is woken or did not wake; `None`: it is awake.
    pub sleep: Option<String>,
    /// The Agent in the form that placement uses.
    pub candidate: Candidate,
}

/// A network interface of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    pub has_carrier: Option<bool>,
    #[serde(rename = "ipV4Addresses", default)]
    pub ip_v4_addresses: Vec<String>,
    #[serde(rename = "ipV6Addresses", default)]
    pub ip_v6_addresses: Vec<String>,
}

/// The parts of an Agent that are read; the rest is skipped.
#[derive(Deserialize)]
struct Read {
    metadata: ObjectMeta,
    spec: AgentSpec,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
    debug_info: Option<AgentDebugInfo>,
    progress: Option<Progress>,
    inventory: Option<Inventory>,
    failures: Option<AgentFailures>,
    cleaning: Option<Cleaning>,
    sleep: Option<AgentSleep>,
}

/// Without the disks, which may be many.
#[derive(Deserialize)]
struct Cleaning {
    state: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    current_stage: Option<String>,
}

#[derive(Default, Deserialize)]
struct Inventory {
    hostname: Option<String>,
    #[serde(default)]
    interfaces: Vec<Interface>,
    cpu: Option<Cpu>,
    memory: Option<Memory>,
    #[serde(default)]
    disks: Vec<Disk>,
}

#[derive(Deserialize)]
struct Cpu {
    count: Option<i64>,
    architecture: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    physical_bytes: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Disk {
    size_bytes: Option<i64>,
}

impl From<Read> for AgentView {
    fn from(read: Read) -> Self {
        let status = read.status.unwrap_or_default();
        let inventory = status.inventory.unwrap_or_default();
        let state = status.debug_info.and_then(|info| info.state).unwrap_or_default();
        let stage = status.progress.and_then(|progress| progress.current_stage);
        let stage = stage.and_then(|stage| stage.parse().ok());
        let mut metadata = read.metadata;
        metadata.managed_fields = None;
        // Annotations hold whole inventories.
        let mut annotations = metadata.annotations.take().unwrap_or_default();
        annotations.retain(|key, _| KEPT_ANNOTATIONS.contains(&key.as_str()));
        let cluster = read.spec.cluster_deployment_name.as_ref();
        let cluster = cluster.filter(|it| !it.name.is_empty());
        let cluster = cluster.map(|it| KubeRef::new(&it.namespace, &it.name));
        let labels = metadata.labels.clone().unwrap_or_default();
        // An Agent that was taken by upstream's provider has the namespace, too. Without it, the namespace is the cluster's.
        let taken_in = annotations
            .get(annotation::AGENT_MACHINE_REF_NAMESPACE)
            .or(cluster.as_ref().map(|cluster| &cluster.namespace));
        let taken_by = labels.get(label::AGENT_MACHINE_REF);
        let taken_by = taken_by.map(|name| KubeRef::new(taken_in.cloned().unwrap_or_default(), name));
        let truth = |type_: &str| {
            let found = status.conditions.iter().find(|one| one.type_ == type_)?;
            match found.status.as_str() {
                "True" => Some(true),
                "False" => Some(false),
                _ => None,
            }
        };
        let candidate = Candidate {
            host: KubeRef::new(
                metadata.namespace.clone().unwrap_or_default(),
                metadata.name.clone().unwrap_or_default(),
            ),
            infra_env: labels
                .get(label::INFRA_ENV)
                .map(|name| KubeRef::new(metadata.namespace.clone().unwrap_or_default(), name)),
            labels,
            is_approved: read.spec.approved,
            is_leaving: metadata.deletion_timestamp.is_some(),
            bound: truth("Bound"),
            connected: truth("Connected"),
            validated: truth("Validated"),
            state: state.clone(),
            cluster,
            taken_by,
            hardware: hardware(&inventory),
            architecture: architecture(&inventory),
            failures: status.failures.and_then(failures),
            erasure: status.cleaning.and_then(erasure),
            rest: rest(status.sleep.as_ref()),
        };
        metadata.annotations = Some(annotations);
        let requested = read.spec.hostname.clone().filter(|name| !name.is_empty());
        Self {
            metadata,
            hostname: requested.or(inventory.hostname),
            spec: read.spec,
            conditions: status.conditions,
            state,
            stage,
            interfaces: inventory.interfaces,
            sleep: status.sleep.and_then(|sleep| sleep.message),
            candidate,
        }
    }
}

fn hardware(inventory: &Inventory) -> Hardware {
    let size = |number: Option<i64>| u64::try_from(number.unwrap_or_default()).unwrap_or_default();
    let disks = inventory.disks.iter().map(|disk| size(disk.size_bytes));
    Hardware {
        cpus: size(inventory.cpu.as_ref().and_then(|cpu| cpu.count)),
        memory_bytes: size(inventory.memory.as_ref().and_then(|memory| memory.physical_bytes)),
        disk_bytes: disks.max().unwrap_or_default(),
    }
}

fn architecture(inventory: &Inventory) -> Option<String> {
    let architecture = inventory.cpu.as_ref()?.architecture.clone();
    architecture.filter(|name| !name.is_empty())
}

fn rest(shown: Option<&AgentSleep>) -> Rest {
    match shown.and_then(|sleep| sleep.stage.as_deref()) {
        None => Rest::Awake,
        Some("Waking") => Rest::Waking,
        Some("DidNotWake") => Rest::DidNotWake,
        Some(_) => Rest::Asleep,
    }
}

fn failures(shown: AgentFailures) -> Option<PastFailures> {
    let count = u32::try_from(shown.count?).ok().filter(|count| *count > 0)?;
    let until = shown.until_time.as_ref();
    Some(PastFailures {
        count,
        message: shown.message.unwrap_or_default(),
        until: until.and_then(|time| Timestamp::from_timestamp(time.0.as_second(), 0)),
        is_quarantined: shown.quarantined,
    })
}

/// `None` for an erasure that is over.
fn erasure(shown: Cleaning) -> Option<Erasure> {
    match shown.state?.as_str() {
        "Waiting" | "Erasing" => Some(Erasure::Pending),
        "Failed" => Some(Erasure::Failed(shown.message.unwrap_or_default())),
        _ => None,
    }
}

impl AgentView {
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.type_ == type_)
    }

    /// True if `other` is the same in all that the provider reads.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let without_metadata = |one: &Self| Self {
            metadata: ObjectMeta::default(),
            ..one.clone()
        };
        without_metadata(self) == without_metadata(other)
    }
}

/// The Agent of that name.
pub fn get(agents: &Store<AgentView>, name: &KubeRef) -> Option<Arc<AgentView>> {
    agents.get(&object_ref(name))
}

/// Agents that were taken for this AgentMachine, in the order of their names.
pub fn taken_for(agents: &Store<AgentView>, machine: &KubeRef) -> Vec<Arc<AgentView>> {
    let mut taken = agents.state_filter(|one| one.candidate.taken_by.as_ref() == Some(machine));
    taken.sort_by_key(|one| kube_ref(&**one));
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::ResourceExt;
    use serde_json::json;

    #[test]
    fn a_view_keeps_what_placement_needs_and_drops_the_rest() {
        let view: AgentView = serde_json::from_value(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
            "metadata": {
                "name": "a", "namespace": "hardware", "managedFields": [],
                "labels": {"agentMachineRef": "m", "zone": "east"},
                "annotations": {
                    "agentMachineRefNamespace": "c", "agent.agent-install.openshift.io/inventory": "{}",
                },
            },
            "spec": {"approved": true, "role": "", "clusterDeploymentName": {"name": "one", "namespace": "c"}},
            "status": {
                "conditions": [
                    {"type": "Bound", "status": "True"}, {"type": "Validated", "status": "Unknown"},
                    {"type": "Connected", "status": "True"},
                ],
                "debugInfo": {"state": "known"}, "progress": {"currentStage": "Waiting for ignition"},
                "cleaning": {"state": "Failed", "message": "sda: it is frozen", "disks": [{"id": "a"}]},
                "sleep": {"stage": "Asleep", "message": "nobody took it"},
                "failures": {"count": 2, "message": "why", "untilTime": "2026-11-22T08:00:00Z"},
                "inventory": {
                    "hostname": "worker-0", "cpu": {"count": 8, "architecture": "x86_64"}, "memory": {"physicalBytes": 1024},
                    "disks": [{"id": "a", "sizeBytes": 10}, {"id": "b", "sizeBytes": 20}],
                    "interfaces": [{"hasCarrier": true, "ipV4Addresses": ["192.0.2.1/24"], "flags": []}],
                },
            },
        }))
        .unwrap();
        let candidate = &view.candidate;
        assert_eq!(candidate.taken_by, Some(KubeRef::new("c", "m")));
        assert_eq!(candidate.cluster, Some(KubeRef::new("c", "one")));
        assert_eq!((candidate.bound, candidate.validated), (Some(true), None));
        assert_eq!(
            candidate.hardware,
            Hardware {
                cpus: 8,
                memory_bytes: 1024,
                disk_bytes: 20
            }
        );
        assert_eq!(candidate.architecture.as_deref(), Some("x86_64"));
        assert_eq!(
            candidate.erasure,
            Some(Erasure::Failed("sda: it is frozen".into()))
        );
        let failures = candidate.failures.as_ref().unwrap();
        assert_eq!((failures.count, failures.message.as_str()), (2, "why"));
        let until = failures.until.unwrap().to_rfc3339();
        assert_eq!(
            (until.as_str(), failures.is_quarantined),
            ("2026-11-22T08:00:00+00:00", false)
        );
        assert_eq!(view.hostname.as_deref(), Some("worker-0"));
        assert_eq!(
            (candidate.rest, view.sleep.as_deref()),
            (Rest::Asleep, Some("nobody took it"))
        );
        assert_eq!(view.stage, Some(HostStage::WaitingForIgnition));
        assert_eq!(view.annotations().len(), 1);
        let empty: AgentView = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        assert!(!empty.says_the_same_as(&view) && view.says_the_same_as(&view));
    }
}
