//! Computes the Agent of a host without its status. Source: docs/protocol/kube-controllers.md#3.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use muster_controller::finalizers;
use muster_controller::references::{owner_reference, with_owner};
use muster_core::record::{Agreed, Host, KubeRef};
use muster_core::rules::hostname;
use muster_resources::names::{annotation, finalizer, label};
use muster_resources::{Agent, AgentSpec, ClusterReference, InfraEnv};
use serde_json::{Map, Value, json};

use super::cached::{CachedAgent, short};
use super::metadata;
use super::spec::edits::given;
use super::spec::{mirrored, reboot, reinstall};

/// Sets the name in a spec without one to the host's name, as its BMC or REST set it.
pub fn name(spec: &mut AgentSpec, host: &Host) {
    if given(&spec.hostname).is_none()
        && let Some(name) = hostname::requested(host)
    {
        spec.hostname = Some(name.to_owned());
    }
}

/// True when the InfraEnv's resource approves its Agents without a user.
pub fn approves(infra_env: &InfraEnv) -> bool {
    let approval = infra_env.spec.agent_approval.as_ref();
    approval.is_some_and(|approval| approval.auto_approve)
}

/// The Agent to create for a host that has none yet: with all that is known of the host by now, so that
/// little is left to write.
///
/// `cluster`: the ClusterDeployment that the host is bound to from the start. `is_mirrored`: REST made the InfraEnv.
pub fn agent(infra_env: &InfraEnv, host: &Host, cluster: Option<&KubeRef>, is_mirrored: bool) -> Agent {
    let mut annotations: BTreeMap<String, String> = owned(metadata::annotations(host));
    let mut labels = infra_env.spec.agent_labels.clone();
    labels.insert(label::INFRA_ENV.to_owned(), infra_env.name_any());
    let ours = metadata::labels(host, cluster.map(|cluster| cluster.namespace.as_str()));
    labels.extend(
        ours.into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?))),
    );
    let node_labels = inherited(infra_env);
    if !node_labels.is_empty() {
        // The keys of a map are sorted.
        let keys: Vec<&str> = node_labels.keys().map(String::as_str).collect();
        annotations.insert(annotation::AGENT_INHERITED_NODE_LABELS.to_owned(), keys.join(","));
    }
    let spec = AgentSpec {
        approved: approves(infra_env) || host.data.approved,
        cluster_deployment_name: cluster.map(reference),
        node_labels,
        ..AgentSpec::default()
    };
    if is_mirrored {
        let agreed = mirrored::annotation(&mirrored::at_first(&spec));
        annotations.insert(annotation::AGENT_AGREED.to_owned(), agreed);
    }
    Agent {
        metadata: ObjectMeta {
            name: Some(host.id.to_string()),
            namespace: infra_env.namespace(),
            annotations: Some(annotations),
            labels: Some(labels),
            finalizers: Some(vec![finalizer::AGENT.to_owned()]),
            owner_references: Some(vec![owner_reference(infra_env)]),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

/// A reference to a ClusterDeployment in an Agent's spec.
pub fn reference(cluster: &KubeRef) -> ClusterReference {
    ClusterReference {
        name: cluster.name.clone(),
        namespace: cluster.namespace.clone(),
    }
}

fn owned(map: BTreeMap<&'static str, String>) -> BTreeMap<String, String> {
    map.into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Labels of the InfraEnv that its annotation lists for nodes.
fn inherited(infra_env: &InfraEnv) -> BTreeMap<String, String> {
    let annotations = infra_env.annotations();
    let keys = annotations.get(annotation::INFRA_ENV_PROPAGATE_NODE_LABELS);
    let keys = keys.map_or("", String::as_str).split(',').map(str::trim);
    let labels = infra_env.labels();
    keys.filter_map(|key| Some((key.to_owned(), labels.get(key)?.clone())))
        .collect()
}

/// The parts that an Agent should have, without its status.
#[derive(Debug, Clone, Copy)]
pub struct DesiredAgent<'a> {
    pub host: &'a Host,
    /// The resource of the host's InfraEnv; `None`: it does not exist (yet).
    pub infra_env: Option<&'a InfraEnv>,
    /// True if the Agent was made for another host, and none of its labels stays.
    pub begins_anew: bool,
    /// Namespace of the ClusterDeployment that the host is bound to.
    pub cluster_namespace: Option<&'a str>,
    /// Labels of AgentClassifications: a value to set, or `None` to remove the label.
    pub classified: &'a BTreeMap<String, Option<String>>,
    /// Changes of the spec, as a merge patch.
    pub spec: Option<&'a Value>,
    /// The values on which host and spec agree; only in a mirrored InfraEnv.
    pub agreed: Option<&'a Agreed>,
}

/// The merge patch that brings `agent` to the desired state; `None`: nothing differs.
pub fn patch(agent: &CachedAgent, wanted: &DesiredAgent<'_>) -> Option<Value> {
    let mut meta = Map::new();
    let mut annotations = Map::new();
    for (key, value) in metadata::annotations(wanted.host) {
        if agent.annotations().get(key) != Some(&short(&value)) {
            annotations.insert(key.to_owned(), Value::String(value));
        }
    }
    if wanted.begins_anew {
        // They were requested for another host.
        let requested = [
            annotation::AGENT_OS_IMAGE,
            annotation::AGENT_KUBERNETES_VERSION,
            annotation::AGENT_REINSTALL_REQUESTED,
        ];
        let requested = requested
            .into_iter()
            .filter(|key| agent.annotations().contains_key(*key));
        annotations.extend(requested.map(|key| (key.to_owned(), Value::Null)));
    }
    if let Some(answer) = reboot::answer(agent, wanted.host)
        && agent.annotations().get(annotation::AGENT_REBOOT) != Some(&short(&answer))
    {
        annotations.insert(annotation::AGENT_REBOOT.to_owned(), Value::String(answer));
    }
    if let Some(answer) = reinstall::answer(agent, wanted.host)
        && agent.annotations().get(annotation::AGENT_REINSTALL) != Some(&short(&answer))
    {
        annotations.insert(annotation::AGENT_REINSTALL.to_owned(), Value::String(answer));
    }
    // The patch of the spec was computed from the version that was read.
    let mut is_bound_to_version = wanted.agreed.is_some() && wanted.spec.is_some();
    if let Some(agreed) = wanted.agreed.map(mirrored::annotation)
        && agent.annotations().get(annotation::AGENT_AGREED) != Some(&agreed)
    {
        annotations.insert(annotation::AGENT_AGREED.to_owned(), Value::String(agreed));
    }
    let mut labels = Map::new();
    let ours = metadata::labels(wanted.host, wanted.cluster_namespace);
    let ours = ours.into_iter().map(|(key, value)| (key.to_owned(), value));
    let classified = wanted
        .classified
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()));
    let infra_env = wanted
        .infra_env
        .map(|infra_env| (label::INFRA_ENV.to_owned(), Some(infra_env.name_any())));
    let given = wanted.infra_env.filter(|_| wanted.begins_anew);
    let given = given
        .into_iter()
        .flat_map(|infra_env| begun_anew(agent, infra_env));
    let all: BTreeMap<String, Option<String>> =
        given.chain(ours).chain(classified).chain(infra_env).collect();
    for (key, value) in all {
        if agent.labels().get(&key) != value.as_ref() {
            labels.insert(key, value.map_or(Value::Null, Value::String));
        }
    }
    if !annotations.is_empty() {
        meta.insert("annotations".to_owned(), Value::Object(annotations));
    }
    if !labels.is_empty() {
        meta.insert("labels".to_owned(), Value::Object(labels));
    }
    // Lists are sent as a whole, so they must not have changed meanwhile.
    if let Some(finalizers) = finalizers::with(agent, finalizer::AGENT) {
        meta.insert("finalizers".to_owned(), json!(finalizers));
        is_bound_to_version = true;
    }
    let is_infra_env = |owner: &OwnerReference| owner.kind == InfraEnv::kind(&());
    let owners = wanted
        .infra_env
        .and_then(|infra_env| with_owner(agent, infra_env, is_infra_env));
    if let Some(owners) = owners {
        meta.insert("ownerReferences".to_owned(), json!(owners));
        is_bound_to_version = true;
    }
    if is_bound_to_version {
        meta.insert("resourceVersion".to_owned(), json!(agent.resource_version()));
    }
    let mut patch = Map::new();
    if !meta.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(meta));
    }
    if let Some(spec) = wanted.spec {
        patch.insert("spec".to_owned(), spec.clone());
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Labels of an Agent that starts over: none of its former ones stays, since a NodePool may select the machine by them.
fn begun_anew(agent: &CachedAgent, infra_env: &InfraEnv) -> BTreeMap<String, Option<String>> {
    let had = agent.labels().keys().map(|key| (key.clone(), None));
    let given = infra_env.spec.agent_labels.iter();
    let given = given.map(|(key, value)| (key.clone(), Some(value.clone())));
    had.chain(given).collect()
}

/// The patch that releases an Agent that is being deleted.
pub fn release(agent: &CachedAgent) -> Value {
    let finalizers = finalizers::without(agent, finalizer::AGENT);
    json!({"metadata": {"finalizers": finalizers, "resourceVersion": agent.resource_version()}})
}
