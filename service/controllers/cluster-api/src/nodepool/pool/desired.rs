//! Computes the objects that a NodePool needs. Source: docs/protocol/capi-agent-provider.md#8.1 and §8.2.

use std::collections::BTreeMap;

use kube::ResourceExt;
use muster_core::record::KubeRef;
use muster_resources::cluster_api::conversion::seconds_of;
use muster_resources::cluster_api::names::{
    CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, CLUSTER_NAME, DELETE_MACHINE, DEPLOYMENT_NAME, SECRET_TYPE,
};
use muster_resources::cluster_api::{Machine, MachineDeletion};
use muster_resources::hypershift::{AutoScaling, InPlaceUpgrade, NODE_POOL, NODE_POOL_TAINTS, NodePool};
use muster_resources::names;
use muster_workload::node_settings;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::plan::{Upgrade, View};
use crate::nodepool::machine::in_place;
use crate::nodepool::places;

/// Letters of random suffixes: without vowels, so that they form no words.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Architectures of pools.
const ARCHITECTURES: [&str; 6] = ["amd64", "x86_64", "arm64", "aarch64", "ppc64le", "s390x"];

/// Architecture of a pool that names none: the default of HyperShift's CRD, which the built-in API does not have.
const USUAL_ARCHITECTURE: &str = "amd64";

/// Longest name of a Machine, which becomes the value of a label elsewhere.
const LONGEST: usize = 63;

/// The place of the objects of a pool, and their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Namespace of the control plane.
    pub namespace: String,
    /// The Cluster's name.
    pub cluster: String,
    pub cluster_uid: String,
    /// Namespace of the Agents to take.
    pub agent_namespace: String,
}

/// The objects that Machines are made from at present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The Secret with the bootstrap data; `None`: the user has provided none.
    pub data_secret: Option<String>,
    /// The AgentMachineTemplate.
    pub template: String,
    /// Nodes are upgraded in place: those of Machines that were made from another template stay as they are.
    pub in_place: bool,
}

/// The first hexadecimal digits of a digest, as a name for content.
fn short_digest(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(u64::try_from(part.len()).unwrap_or(0).to_be_bytes());
        digest.update(part);
    }
    digest
        .finalize()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Name and content of the AgentMachineTemplate.
pub fn template(pool: &NodePool, place: &Place) -> (KubeRef, Value) {
    let agent = pool.spec.platform.agent.as_ref();
    let selector = agent.and_then(|agent| agent.agent_label_selector.as_ref());
    let mut spec = match selector {
        Some(selector) => json!({"template": {"spec": {"agentLabelSelector": selector}}}),
        None => json!({"template": {"spec": {}}}),
    };
    if let Some(image) = os_image(pool) {
        spec["template"]["spec"]["osImage"] = image.into();
    }
    let digest = short_digest(&[spec.to_string().as_bytes()]);
    let name = KubeRef::new(&place.namespace, format!("{}-{digest}", pool.name_any()));
    let object = json!({"metadata": metadata(pool, place), "spec": spec});
    (name, object)
}

/// The image for the disks that an annotation names.
fn os_image(pool: &NodePool) -> Option<&str> {
    let image = pool.annotations().get(names::annotation::NODE_POOL_OS_IMAGE)?;
    (!image.is_empty()).then_some(image.as_str())
}

/// Name and content of the copy of the bootstrap data. Other data have another name, as do data of another release or for another image.
pub fn data_secret(pool: &NodePool, place: &Place, data: &str) -> (KubeRef, Value) {
    use base64::Engine as _;
    let mut parts = vec![data.as_bytes(), pool.spec.release.image.as_bytes()];
    parts.extend(os_image(pool).map(str::as_bytes));
    let digest = short_digest(&parts);
    let name = KubeRef::new(
        &place.namespace,
        format!("user-data-{}-{digest}", pool.name_any()),
    );
    let mut metadata = metadata(pool, place);
    metadata["labels"][names::label::WATCH] = "true".into();
    metadata["labels"][names::label::BACKUP] = "true".into();
    let value = base64::engine::general_purpose::STANDARD.encode(data);
    let object = json!({"metadata": metadata, "type": SECRET_TYPE, "data": {names::key::CAPI_VALUE: value}});
    (name, object)
}

/// Metadata that all objects of the pool have.
fn metadata(pool: &NodePool, place: &Place) -> Value {
    let own = KubeRef::new(pool.namespace().unwrap_or_default(), pool.name_any());
    json!({
        "labels": {CLUSTER_NAME: place.cluster, DEPLOYMENT_NAME: pool.name_any()},
        "annotations": {NODE_POOL: places::annotation(&own)},
        "ownerReferences": [{
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": place.cluster, "uid": place.cluster_uid,
        }],
    })
}

/// Returns a Machine and its name.
pub fn machine(pool: &NodePool, place: &Place, target: &Target) -> (String, Value) {
    let ending = Uuid::new_v4().into_bytes();
    let ending = ending[..5]
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    let begin: String = pool.name_any().chars().take(LONGEST - 6).collect();
    let name = format!("{begin}-{}", ending.collect::<String>());
    let mut metadata = metadata(pool, place);
    metadata["name"] = name.clone().into();
    let (labels, taints) = node_settings::of_pool(pool);
    for (label, value) in labels {
        metadata["labels"][label] = value.into();
    }
    if let Some(taints) = taints {
        metadata["annotations"][NODE_POOL_TAINTS] = taints.into();
    }
    set_origin(&mut metadata, &target.template);
    let mut spec = json!({
        "clusterName": place.cluster,
        "bootstrap": {"dataSecretName": target.data_secret},
        "infrastructureRef": places::infrastructure("AgentMachine", &name),
    });
    if let Some(deletion) = deletion(pool) {
        spec["deletion"] = json!(deletion);
    }
    if let Some(version) = places::version_of(&pool.spec.release.image) {
        spec["version"] = version.into();
    }
    (
        name,
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata, "spec": spec}),
    )
}

fn set_origin(metadata: &mut Value, template: &str) {
    metadata["annotations"][CLONED_FROM_NAME] = template.into();
    let group_kind = format!("AgentMachineTemplate.{}", names::group::CAPI_PROVIDER);
    metadata["annotations"][CLONED_FROM_GROUP_KIND] = group_kind.into();
}

/// Returns the architecture of the pool's Agents.
///
/// # Errors
/// Returns the reason why it is none, with advice.
pub fn architecture(pool: &NodePool) -> Result<&str, String> {
    let given = pool.spec.arch.as_deref().filter(|arch| !arch.is_empty());
    let architecture = given.unwrap_or(USUAL_ARCHITECTURE);
    if ARCHITECTURES.contains(&architecture) {
        return Ok(architecture);
    }
    Err(format!(
        "spec.arch: {architecture:?} is none of {}",
        ARCHITECTURES.join(", ")
    ))
}

/// Returns the AgentMachine of a Machine, from the spec of its template. The architecture is no part of the template: it never changes,
/// and pools of earlier versions are not rolled for it.
pub fn agent_machine(pool: &NodePool, place: &Place, machine: &Machine, spec: &Value) -> Value {
    let mut metadata = metadata(pool, place);
    metadata["name"] = machine.name_any().into();
    metadata["annotations"][names::annotation::AGENT_NAMESPACE] = place.agent_namespace.clone().into();
    if let Some(template) = machine.annotations().get(CLONED_FROM_NAME) {
        set_origin(&mut metadata, template);
    }
    metadata["ownerReferences"] = json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": machine.name_any(), "uid": machine.uid(),
        "controller": true, "blockOwnerDeletion": true,
    }]);
    let mut spec = spec.clone();
    if let Ok(architecture) = architecture(pool) {
        spec["architecture"] = architecture.into();
    }
    json!({
        "apiVersion": format!("{}/v1beta1", names::group::CAPI_PROVIDER), "kind": "AgentMachine", "metadata": metadata, "spec": spec,
    })
}

/// Timeouts of the Machines' deletion, which existing ones get, too.
pub fn deletion(pool: &NodePool) -> Option<MachineDeletion> {
    let seconds = |text: &Option<String>| text.as_deref().and_then(seconds_of);
    let deletion = MachineDeletion {
        node_drain_timeout_seconds: seconds(&pool.spec.node_drain_timeout),
        node_volume_detach_timeout_seconds: seconds(&pool.spec.node_volume_detach_timeout),
        node_deletion_timeout_seconds: None,
    };
    (deletion != MachineDeletion::default()).then_some(deletion)
}

/// Returns a Machine in the form of the plan.
pub fn view(machine: &Machine, target: &Target) -> View {
    let conditions: BTreeMap<&str, &str> = machine
        .status
        .iter()
        .flat_map(|status| &status.conditions)
        .map(|condition| (condition.type_.as_str(), condition.status.as_str()))
        .collect();
    let is = |type_: &str| conditions.get(type_) == Some(&"True");
    let has_node = machine
        .status
        .as_ref()
        .is_some_and(|status| status.node_ref.is_some());
    View {
        name: machine.name_any(),
        deleting: machine.metadata.deletion_timestamp.is_some(),
        up_to_date: is_up_to_date(machine, target) && in_place::upgrade(machine).is_none(),
        available: is("Available"),
        healthy: has_node && is("NodeHealthy"),
        chosen: machine.annotations().contains_key(DELETE_MACHINE),
        installed: has_node,
        upgrade: in_place::upgrade(machine).map(|upgrade| match in_place::has_failed(machine) {
            true => Upgrade::Failed {
                is_present: is_to(&upgrade, target),
            },
            false => Upgrade::Running,
        }),
        created: machine.metadata.creation_timestamp.clone(),
    }
}

/// The upgrade in place to the pool's present settings; `None`: there are no bootstrap data.
pub fn upgrade(pool: &NodePool, target: &Target, began: String) -> Option<InPlaceUpgrade> {
    Some(InPlaceUpgrade {
        began,
        data_secret_name: target.data_secret.clone()?,
        template: target.template.clone(),
        version: places::version_of(&pool.spec.release.image),
        node_uid: None,
    })
}

/// True if an upgrade is one to the pool's present settings.
fn is_to(upgrade: &InPlaceUpgrade, target: &Target) -> bool {
    let is_data = |data: &String| upgrade.data_secret_name == *data;
    let is_template = target.in_place || upgrade.template == target.template;
    target.data_secret.as_ref().is_none_or(is_data) && is_template
}

/// True if a Machine is made from the pool's present settings. Another selector of Agents changes nothing for a node that stays. While there are no bootstrap data, any are accepted.
pub fn is_up_to_date(machine: &Machine, target: &Target) -> bool {
    let data = &machine.spec.bootstrap.data_secret_name;
    let template = machine.annotations().get(CLONED_FROM_NAME);
    let is_template = target.in_place || template == Some(&target.template);
    (target.data_secret.is_none() || *data == target.data_secret) && is_template
}

/// Checks how the size of the pool is given, as HyperShift does.
///
/// # Errors
/// Returns the mistake, with advice.
pub fn check_scaling(pool: &NodePool) -> Result<(), String> {
    let Some(AutoScaling { min, max }) = pool.spec.auto_scaling else {
        return match pool.spec.replicas {
            Some(replicas) if replicas < 0 => Err(format!("spec.replicas: {replicas} is less than 0")),
            _ => Ok(()),
        };
    };
    if pool.spec.replicas.is_some() {
        return Err("spec.replicas and spec.autoScaling: take one of the two away".into());
    }
    if min < 1 {
        return Err(format!("spec.autoScaling.min: {min} is less than 1"));
    }
    if max < min {
        return Err(format!("spec.autoScaling.max: {max} is less than min, {min}"));
    }
    Ok(())
}

/// The number of Machines that the pool needs, given how many it has.
pub fn wanted(pool: &NodePool, present: usize) -> usize {
    let number = |value: i32| usize::try_from(value).unwrap_or(0);
    match (&pool.spec.replicas, &pool.spec.auto_scaling) {
        (Some(replicas), _) => number(*replicas),
        (None, Some(limits)) => present.clamp(number(limits.min), number(limits.max).max(number(limits.min))),
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(spec: Value) -> NodePool {
        serde_json::from_value(json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
            "metadata": {"name": "vcluster2", "namespace": "clusters"}, "spec": spec,
        }))
        .unwrap()
    }

    fn place() -> Place {
        Place {
            namespace: "clusters-vcluster2".into(),
            cluster: "vcluster2-x7k2p".into(),
            cluster_uid: "u".into(),
            agent_namespace: "agents".into(),
        }
    }

    #[test]
    fn other_data_another_release_and_another_selector_have_other_names() {
        let one = pool(json!({"release": {"image": "r:4.20.1"}}));
        let names = [
            data_secret(&one, &place(), "a").0.name,
            data_secret(&one, &place(), "b").0.name,
            data_secret(&pool(json!({"release": {"image": "r:4.20.2"}})), &place(), "a")
                .0
                .name,
        ];
        assert!(names.iter().all(|name| name.starts_with("user-data-vcluster2-")));
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        assert_eq!(data_secret(&one, &place(), "a").0.name, names[0]);
        let selecting = pool(
            json!({"platform": {"type": "Agent", "agent": {"agentLabelSelector": {"matchLabels": {"a": "b"}}}}}),
        );
        let (name, object) = template(&selecting, &place());
        assert_ne!(name, template(&one, &place()).0);
        assert_eq!(
            object["spec"]["template"]["spec"]["agentLabelSelector"]["matchLabels"],
            json!({"a": "b"})
        );
    }

    #[test]
    fn a_machine_is_up_to_date_until_the_pool_asks_for_something_else() {
        let pool = pool(json!({
            "release": {"image": "quay.io/r:4.20.1-x86_64"}, "nodeDrainTimeout": "1m30s",
            "nodeLabels": {"tier": "a"}, "taints": [{"key": "k", "effect": "NoSchedule"}],
        }));
        let target = Target {
            data_secret: Some("user-data-1".into()),
            template: "vcluster2-1".into(),
            in_place: false,
        };
        let (name, object) = machine(&pool, &place(), &target);
        assert!(name.starts_with("vcluster2-") && name.len() == 15, "{name}");
        assert_eq!(object["spec"]["version"], "4.20.1");
        assert_eq!(object["spec"]["deletion"], json!({"nodeDrainTimeoutSeconds": 90}));
        assert_eq!(
            object["metadata"]["labels"]["managed.hypershift.openshift.io.tier"],
            "a"
        );
        let made: Machine = serde_json::from_value(object).unwrap();
        assert!(view(&made, &target).up_to_date);
        let other = |data_secret: Option<&str>, template: &str| Target {
            data_secret: data_secret.map(str::to_owned),
            template: template.into(),
            in_place: false,
        };
        assert!(!is_up_to_date(&made, &other(Some("user-data-2"), "vcluster2-1")));
        assert!(!is_up_to_date(&made, &other(Some("user-data-1"), "vcluster2-2")));
        assert!(is_up_to_date(&made, &other(None, "vcluster2-1")));
        // In place, a node stays as it is when its pool selects other Agents.
        let in_place = |data: &str, template: &str| Target {
            in_place: true,
            ..other(Some(data), template)
        };
        assert!(is_up_to_date(&made, &in_place("user-data-1", "vcluster2-2")));
        assert!(!is_up_to_date(&made, &in_place("user-data-2", "vcluster2-1")));
    }

    #[test]
    fn another_image_has_other_data_and_another_template_and_none_changes_no_name() {
        let plain = pool(json!({"release": {"image": "r:4.20.1"}}));
        let with = |image: &str| {
            let mut pool = plain.clone();
            let key = names::annotation::NODE_POOL_OS_IMAGE.to_owned();
            pool.annotations_mut().insert(key, image.to_owned());
            let (name, object) = template(&pool, &place());
            let data = data_secret(&pool, &place(), "a").0.name;
            (
                name.name,
                data,
                object["spec"]["template"]["spec"]["osImage"].clone(),
            )
        };
        let none = (
            template(&plain, &place()).0.name,
            data_secret(&plain, &place(), "a").0.name,
        );
        let empty = with("");
        assert_eq!(
            (empty.0, empty.1, empty.2),
            (none.0.clone(), none.1.clone(), json!(null))
        );
        let debian = with("debian-13");
        assert_eq!(debian.2, "debian-13");
        assert!(debian.0 != none.0 && debian.1 != none.1);
    }

    #[test]
    fn an_agent_machine_has_the_architecture_of_its_pool_and_the_template_stays_as_it_is() {
        let target = Target {
            data_secret: None,
            template: "vcluster2-1".into(),
            in_place: false,
        };
        let of = |spec: Value| {
            let pool = pool(spec);
            let (_, object) = machine(&pool, &place(), &target);
            let made: Machine = serde_json::from_value(object).unwrap();
            let (name, template) = template(&pool, &place());
            let spec = &template["spec"]["template"]["spec"];
            let made = agent_machine(&pool, &place(), &made, spec);
            (name, made["spec"]["architecture"].clone())
        };
        let (usual, amd64) = of(json!({}));
        let (of_arm64, arm64) = of(json!({"arch": "arm64"}));
        assert_eq!((amd64, arm64), (json!("amd64"), json!("arm64")));
        assert_eq!(usual, of_arm64);
        let unknown = pool(json!({"arch": "riscv64"}));
        let why = architecture(&unknown).unwrap_err();
        assert!(why.contains("\"riscv64\" is none of amd64"), "{why}");
    }

    #[test]
    fn a_pool_that_scales_itself_stays_within_its_limits() {
        let scaled = pool(json!({"autoScaling": {"min": 2, "max": 4}}));
        assert_eq!([0, 3, 9].map(|present| wanted(&scaled, present)), [2, 3, 4]);
        assert_eq!(wanted(&pool(json!({})), 3), 0);
        assert_eq!(wanted(&pool(json!({"replicas": 2})), 0), 2);
    }
}
