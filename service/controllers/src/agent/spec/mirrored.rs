//! Brings the spec of an Agent and its host together in a mirrored InfraEnv, where changes by REST count as much as those by `kubectl`.
//!
//! The latest change of each field wins ([`mirror`]). In other InfraEnvs the spec alone is the truth.

use kube::ResourceExt;
use muster_core::record::{Agreed, Fields, Host, KubeRef};
use muster_core::rules::{disks, mirror};
use muster_resources::AgentSpec;
use muster_resources::names::annotation;
use serde_json::{Value, json};

use super::edits::is_open;
use super::membership;
use crate::agent::cached::CachedAgent;
use crate::agent::desired::reference;

/// Names of the cluster that a host is in.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    Unbound,
    /// In the cluster of this ClusterDeployment.
    In(&'a KubeRef),
    /// In a cluster without one, which a spec cannot name.
    Unnamed,
}

impl<'a> Place<'a> {
    /// The place of `host`. `name`: the ClusterDeployment of the host's cluster.
    pub fn of(host: &Host, name: Option<&'a KubeRef>) -> Self {
        match (host.cluster_id, name) {
            (None, _) => Self::Unbound,
            (Some(_), Some(name)) => Self::In(name),
            (Some(_), None) => Self::Unnamed,
        }
    }
}

const CLUSTER: &str = "clusterDeploymentName";
const DISK_FIELDS: [&str; 2] = ["installation_disk_id", "installation_disk_path"];
const SETTINGS: [&str; 7] = [
    "hostname",
    "role",
    "machineConfigPool",
    "nodeLabels",
    "ignitionEndpointHTTPHeaders",
    "installerArgs",
    "ignitionConfigOverrides",
];

/// The values on which record and Agent agreed last.
pub fn agreed(agent: &CachedAgent) -> Agreed {
    let text = agent.annotations().get(annotation::AGENT_AGREED);
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// The annotation that stores the agreed values.
pub fn annotation(agreed: &Agreed) -> String {
    json!(agreed).to_string()
}

/// The spec that the Agent shall have.
pub fn merged(agreed: &Agreed, spec: &AgentSpec, host: &Host, place: Place<'_>) -> AgentSpec {
    let mut merged = mirror::merge(agreed, &as_host_has_it(spec, host, place), &fields(&json!(spec)));
    merged.retain(|_, value| !value.is_null());
    serde_json::from_value(Value::Object(merged)).expect("each field is one of a spec")
}

/// The values on which record and Agent agree once the host was changed as far as `spec` could be followed.
pub fn agree(agreed: &Agreed, spec: &AgentSpec, host: &Host, place: Place<'_>) -> Agreed {
    mirror::agree(agreed, &as_host_has_it(spec, host, place), &fields(&json!(spec)))
}

/// The agreed values of an Agent that is made with `spec`: whatever differs from them later was changed by a user.
pub fn at_first(spec: &AgentSpec) -> Agreed {
    let all = fields(&json!(spec));
    let mut agreed = Agreed::default();
    let names = [CLUSTER, "approved"]
        .into_iter()
        .chain(DISK_FIELDS)
        .chain(SETTINGS);
    for name in names {
        agreed.set(name, all.get(name).unwrap_or(&Value::Null));
    }
    agreed
}

/// The fields of the spec that the host has values for, with these values; in the wording of the spec where that means the same.
/// Settings that a host cannot take now are left out: their changes wait. A spec without a role or a disk leaves the choice to the
/// service, and the status shows it.
fn as_host_has_it(spec: &AgentSpec, host: &Host, place: Place<'_>) -> Fields {
    let mut shown = spec.clone();
    let mut names = vec!["approved"];
    shown.approved = host.data.approved;
    match place {
        Place::Unnamed => {}
        Place::Unbound if membership::wanted(spec).is_none() => names.push(CLUSTER),
        Place::Unbound => {
            names.push(CLUSTER);
            shown.cluster_deployment_name = None;
        }
        Place::In(name) => {
            names.push(CLUSTER);
            if membership::wanted(spec).as_ref() != Some(name) {
                shown.cluster_deployment_name = Some(reference(name));
            }
        }
    }
    if is_open(host) {
        names.extend(SETTINGS);
        settings(&mut shown, host);
        if disk(&mut shown, host) {
            names.extend(DISK_FIELDS);
        }
    }
    let all = fields(&json!(shown));
    let of = |name: &str| all.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .map(|name| (name.to_owned(), of(name)))
        .collect()
}

fn settings(shown: &mut AgentSpec, host: &Host) {
    let data = &host.data;
    shown.hostname = data.requested_hostname.clone();
    if !shown.role.is_empty() {
        shown.role = data.role.name().to_owned();
    }
    shown.machine_config_pool = set(&data.machine_config_pool_name);
    shown.node_labels = data.node_labels.iter().cloned().collect();
    shown.ignition_endpoint_http_headers = data.ignition_endpoint_http_headers.iter().cloned().collect();
    let args = shown.installer_args.as_deref().unwrap_or("[]");
    let args: Option<Vec<String>> = serde_json::from_str(args).ok();
    if args.as_ref() != Some(&data.installer_args) {
        let list = Some(&data.installer_args).filter(|list| !list.is_empty());
        shown.installer_args = list.map(|list| json!(list).to_string());
    }
    shown.ignition_config_overrides = set(data.ignition_config_overrides.reveal());
}

/// The text; `None` for an empty one.
fn set(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// Sets the installation disk. False while the inventory is missing, so that the disk is unknown.
fn disk(shown: &mut AgentSpec, host: &Host) -> bool {
    let path = shown.installation_disk_path.as_deref();
    let named = path
        .or(shown.installation_disk_id.as_deref())
        .filter(|text| !text.is_empty());
    let Some(named) = named else { return true };
    let Some(inventory) = &host.inventory else {
        return false;
    };
    let same =
        disks::find(&inventory.disks, named).is_some_and(|disk| disk.id == host.data.installation_disk_id);
    if !same {
        shown.installation_disk_path = None;
        shown.installation_disk_id = set(&host.data.installation_disk_id);
    }
    true
}

fn fields(value: &Value) -> Fields {
    value.as_object().cloned().unwrap_or_default()
}
