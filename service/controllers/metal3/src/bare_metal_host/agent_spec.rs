//! Computes the changes of an Agent that follow from its BareMetalHost. Source: docs/protocol/kube-controllers.md#7 (annotations).
//!
//! The BareMetalHost has precedence: a field that it sets is changed back if it is edited on the Agent.

use std::collections::BTreeMap;

use kube::ResourceExt;
use muster_core::rules::labels;
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::{annotation, label};
use muster_resources::names::annotation as ours;
use muster_resources::{Agent, ClusterReference, InfraEnv};
use serde_json::{Map, Value, json};

use super::seen::Progress;
use super::{fencing, hints};
use crate::edits::Edits;

/// Annotations that are copied, and the member of the Agent's spec that each sets.
const COPIED: [(&str, &str); 5] = [
    (annotation::ROLE, "role"),
    (annotation::HOSTNAME, "hostname"),
    (annotation::MACHINE_CONFIG_POOL, "machineConfigPool"),
    (annotation::INSTALLER_ARGS, "installerArgs"),
    (annotation::IGNITION_CONFIG_OVERRIDES, "ignitionConfigOverrides"),
];

/// The changes, and the problems with annotations: sentences for users.
pub fn edits(host: &BareMetalHost, infra_env: Option<&InfraEnv>, agent: &Agent) -> (Edits, Vec<String>) {
    let mut edits = Edits::default();
    let mut problems = Vec::new();
    let given = host.annotations();
    if !agent.spec.approved {
        edits.spec("approved", json!(true));
    }
    let present = serde_json::to_value(&agent.spec).unwrap_or_default();
    for (key, member) in COPIED {
        if let Some(wanted) = given.get(key)
            && present[member].as_str().unwrap_or_default() != wanted
        {
            edits.spec(member, json!(wanted));
        }
    }
    match cluster(host, infra_env) {
        Ok(Some(wanted)) if agent.spec.cluster_deployment_name != wanted => {
            edits.spec("clusterDeploymentName", json!(wanted));
        }
        Ok(_) => {}
        Err(problem) => problems.push(problem),
    }
    if let Some(secret) = fencing::secret_of(host, agent)
        && agent.spec.fencing_credentials_secret_ref.as_ref() != Some(&secret)
    {
        edits.spec("fencingCredentialsSecretRef", json!(secret));
    }
    node_labels(host, agent, &mut edits);
    disk(host, agent, &mut edits);
    let own = (label::HOST.to_owned(), host.name_any());
    for (key, wanted) in prefixed(host, annotation::AGENT_LABEL_PREFIX)
        .into_iter()
        .chain([own])
    {
        match labels::check(&key, &wanted) {
            Ok(()) => edits.label(agent, &key, Some(&wanted)),
            Err(problem) => problems.push(problem),
        }
    }
    (edits, problems)
}

/// The cluster in the annotation; the outer `None`: there is no annotation, the inner one: it is empty.
fn cluster(
    host: &BareMetalHost,
    infra_env: Option<&InfraEnv>,
) -> Result<Option<Option<ClusterReference>>, String> {
    let Some(given) = host.annotations().get(annotation::CLUSTER_REFERENCE) else {
        return Ok(None);
    };
    let key = annotation::CLUSTER_REFERENCE;
    if infra_env.is_some_and(|infra_env| infra_env.spec.cluster_ref.is_some()) {
        return Err(format!(
            "the annotation {key} cannot be used: the InfraEnv has a clusterRef, whose cluster all its hosts join; take one of the two away"
        ));
    }
    if given.trim().is_empty() {
        return Ok(Some(None));
    }
    match given.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(Some(Some(ClusterReference {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
            })))
        }
        _ => Err(format!(
            "the annotation {key} is {given:?}; write NAMESPACE/NAME of a ClusterDeployment, or nothing to unbind the host"
        )),
    }
}

/// Annotations with this prefix, without it.
fn prefixed(host: &BareMetalHost, prefix: &str) -> BTreeMap<String, String> {
    let given = host.annotations().iter();
    given
        .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?.to_owned(), value.clone())))
        .collect()
}

/// Labels of the node: the BareMetalHost's and no others, if it has any. Labels that come from the InfraEnv stay.
fn node_labels(host: &BareMetalHost, agent: &Agent, edits: &mut Edits) {
    let mut wanted = prefixed(host, annotation::NODE_LABEL_PREFIX);
    if wanted.is_empty() {
        return;
    }
    let inherited = agent.annotations().get(ours::AGENT_INHERITED_NODE_LABELS);
    for key in inherited.iter().flat_map(|keys| keys.split(',')) {
        if let Some(value) = agent.spec.node_labels.get(key) {
            wanted.entry(key.to_owned()).or_insert_with(|| value.clone());
        }
    }
    if agent.spec.node_labels == wanted {
        return;
    }
    let gone = agent
        .spec
        .node_labels
        .keys()
        .filter(|key| !wanted.contains_key(*key));
    let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    patch.extend(wanted.iter().map(|(key, value)| (key.clone(), json!(value))));
    edits.spec("nodeLabels", patch.into());
}

/// The disk that the hints name, until the installation has begun.
fn disk(host: &BareMetalHost, agent: &Agent, edits: &mut Edits) {
    let inventory = agent.status.as_ref().and_then(|status| status.inventory.as_ref());
    let disks = inventory.map_or(&[][..], |inventory| &inventory.disks);
    let Some(wanted) = hints::disk(host.spec.root_device_hints.as_ref(), disks) else {
        return;
    };
    if Progress::of(Some(agent)) != Progress::NotInstalling {
        return;
    }
    if agent.spec.installation_disk_id.as_ref() != Some(&wanted) {
        edits.spec("installation_disk_id", json!(wanted));
    }
    // Only one of the two may be set.
    if agent.spec.installation_disk_path.is_some() {
        edits.spec("installation_disk_path", Value::Null);
    }
}
