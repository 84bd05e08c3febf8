//! Reads Machines and Clusters of Cluster API, in the forms of both versions, and marks objects that the
//! provider reconciles. Source: docs/protocol/capi-agent-provider.md#2 and §4.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use kube::core::DynamicObject;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Resource, ResourceExt};
use muster_controller::error::Error;
use muster_controller::finalizers;
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_resources::cluster_api::names::PRE_TERMINATE_HOOK as HOOKS;
use muster_resources::names::{annotation, group, label};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Longest reason for which a machine is replaced, characters.
const LONGEST_REASON: usize = 300;

/// Sets this finalizer and the label for backups in one write, and returns the object; `None`: it has both already.
///
/// # Errors
/// Fails if the API server does; with a conflict if the object changed.
pub async fn adopted<K>(api: &Api<K>, object: &K, finalizer: &str) -> Result<Option<K>, Error>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut metadata = json!({});
    if let Some(list) = finalizers::with(object, finalizer) {
        metadata["finalizers"] = json!(list);
    }
    let label = object.labels().get(label::BACKUP);
    if label.is_none_or(|value| value != "true") {
        metadata["labels"] = json!({label::BACKUP: "true"});
    }
    if metadata == json!({}) {
        return Ok(None);
    }
    let patch = finalizers::metadata_patch(object, metadata);
    Ok(Some(
        api.patch(&object.name_any(), &patch_params(), &patch).await?,
    ))
}

/// The object of that name in a store of objects without a type.
pub fn find(
    store: &Store<DynamicObject>,
    kind: &kube::core::ApiResource,
    name: &KubeRef,
) -> Option<Arc<DynamicObject>> {
    let reference = ObjectRef::new_with(&name.name, kind.clone()).within(&name.namespace);
    store.get(&reference)
}

/// True if controllers must leave the object alone; the value of the annotation does not matter.
pub fn is_paused(object: &impl Resource) -> bool {
    object.annotations().contains_key(annotation::CAPI_PAUSED)
}

/// True if somebody else reconciles the object and writes its status. The contract's page names a label; Cluster API and all providers
/// look at annotations. Source: docs/protocol/capi-day1.md, section 1.
pub fn is_managed_elsewhere(object: &impl Resource) -> bool {
    object.annotations().contains_key(annotation::CAPI_MANAGED_BY)
}

fn text<'a>(data: &'a Value, pointer: &str) -> Option<&'a str> {
    data.pointer(pointer)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// A Machine.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a>(pub &'a DynamicObject);

impl<'a> Machine<'a> {
    /// The Secret with its bootstrap data.
    pub fn bootstrap_secret(self) -> Option<&'a str> {
        text(&self.0.data, "/spec/bootstrap/dataSecretName")
    }

    /// True when a bootstrap provider makes that Secret.
    pub fn has_bootstrap_provider(self) -> bool {
        text(&self.0.data, "/spec/bootstrap/configRef/name").is_some()
    }

    /// The failure domain that the machine must be in.
    pub fn failure_domain(self) -> Option<&'a str> {
        text(&self.0.data, "/spec/failureDomain")
    }

    /// The version of its kubelet, without the `v`.
    pub fn version(self) -> Option<&'a str> {
        let version = text(&self.0.data, "/spec/version")?;
        Some(version.strip_prefix('v').unwrap_or(version))
    }

    /// Name of its Cluster.
    pub fn cluster(self) -> Option<&'a str> {
        let labelled = self.0.labels().get(label::CAPI_CLUSTER_NAME).map(String::as_str);
        labelled.or_else(|| text(&self.0.data, "/spec/clusterName"))
    }

    /// The AgentMachine that provides the machine.
    pub fn agent_machine(self) -> Option<KubeRef> {
        let reference = self.0.data.pointer("/spec/infrastructureRef")?;
        (reference["kind"] == "AgentMachine").then(|| {
            let name = reference["name"].as_str().unwrap_or_default();
            KubeRef::new(self.0.namespace().unwrap_or_default(), name)
        })
    }

    pub fn is_deleting(self) -> bool {
        self.0.metadata.deletion_timestamp.is_some()
    }

    /// True when everything else of its deletion is done, and it waits for the provider's hook.
    pub fn awaits_hook(self) -> bool {
        self.conditions().any(|one| match one["type"].as_str() {
            Some("Deleting") => one["reason"] == "WaitingForPreTerminateHook",
            Some("PreTerminateDeleteHookSucceeded") => one["status"] != "True",
            _ => false,
        })
    }

    /// The reason for which a MachineHealthCheck replaces the machine; `None`: it does not.
    pub fn failed_health_check(self) -> Option<String> {
        let failed = self
            .conditions()
            .find(|one| one["type"] == "HealthCheckSucceeded" && one["status"] == "False")?;
        let text = |member: &str| failed[member].as_str().filter(|text| !text.is_empty());
        let reason = text("reason").unwrap_or("HealthCheckSucceeded");
        let message = text("message").map_or_else(String::new, |message| format!(": {message}"));
        let whole = format!(
            "the Machine {} was unhealthy ({reason}{message})",
            self.0.name_any()
        );
        Some(whole.chars().take(LONGEST_REASON).collect())
    }

    /// Its conditions of both versions.
    fn conditions(self) -> impl Iterator<Item = &'a Value> {
        let lists = [
            "/status/conditions",
            "/status/v1beta2/conditions",
            "/status/deprecated/v1beta1/conditions",
        ];
        let data = &self.0.data;
        lists
            .into_iter()
            .filter_map(move |list| data.pointer(list))
            .filter_map(Value::as_array)
            .flatten()
    }

    pub fn has_hook(self) -> bool {
        self.0.annotations().contains_key(annotation::PRE_TERMINATE_HOOK)
    }

    /// Hooks of others that keep the machine from being terminated.
    pub fn hooks_of_others(self) -> Vec<&'a str> {
        let keys = self.0.annotations().keys().map(String::as_str);
        keys.filter(|key| key.starts_with(HOOKS) && *key != annotation::PRE_TERMINATE_HOOK)
            .collect()
    }

    /// True for a machine of a control plane: it or its AgentMachine has the label, or a control-plane provider owns it. Source:
    /// docs/protocol/capi-day1.md, section 3.
    pub fn is_control_plane(self, object: &impl Resource, cluster: Option<Cluster<'_>>) -> bool {
        let is_labelled = |labels: &BTreeMap<String, String>| labels.contains_key(label::CAPI_CONTROL_PLANE);
        if is_labelled(self.0.labels()) || is_labelled(object.labels()) {
            return true;
        }
        let reference = cluster.and_then(Cluster::control_plane);
        self.0.owner_references().iter().any(|owner| {
            let of = owner.api_version.split('/').next().unwrap_or_default();
            let is_the_clusters =
                reference.is_some_and(|it| it.group == of && it.kind == owner.kind && it.name == owner.name);
            of == group::CAPI_CONTROL_PLANE || is_the_clusters
        })
    }
}

/// A Cluster.
#[derive(Debug, Clone, Copy)]
pub struct Cluster<'a>(pub &'a DynamicObject);

impl<'a> Cluster<'a> {
    pub fn is_paused(self) -> bool {
        let spec = self.0.data.pointer("/spec/paused").and_then(Value::as_bool);
        spec.unwrap_or_default() || is_paused(self.0)
    }

    /// The AgentCluster of the Cluster.
    pub fn agent_cluster(self) -> Option<KubeRef> {
        let reference = self.0.data.pointer("/spec/infrastructureRef")?;
        let name = reference["name"].as_str().filter(|name| !name.is_empty())?;
        let namespace = self.0.namespace().unwrap_or_default();
        (reference["kind"] == "AgentCluster").then(|| KubeRef::new(namespace, name))
    }

    /// The reference to its control plane: group, version if set, kind, name.
    pub fn control_plane(self) -> Option<ControlPlaneReference<'a>> {
        let data = &self.0.data;
        let version = text(data, "/spec/controlPlaneRef/apiVersion");
        let (group, version) = match version.and_then(|both| both.split_once('/')) {
            Some((group, version)) => (group, Some(version)),
            None => (text(data, "/spec/controlPlaneRef/apiGroup")?, None),
        };
        Some(ControlPlaneReference {
            group,
            version,
            kind: text(data, "/spec/controlPlaneRef/kind")?,
            name: text(data, "/spec/controlPlaneRef/name")?,
        })
    }

    /// True when the address of its API is known.
    pub fn has_endpoint(self) -> bool {
        let endpoint = |member: &str| {
            self.0
                .data
                .pointer(&format!("/spec/controlPlaneEndpoint/{member}"))
        };
        let port = endpoint("port").and_then(Value::as_i64).unwrap_or_default();
        let host = endpoint("host").and_then(Value::as_str).unwrap_or_default();
        port > 0 && !host.is_empty()
    }

    /// True if Cluster API has seen its API at work.
    pub fn is_initialized(self) -> bool {
        let status = [
            "/status/initialization/controlPlaneInitialized",
            "/status/controlPlaneReady",
        ];
        let mut found = status.iter().filter_map(|pointer| self.0.data.pointer(pointer));
        found.any(|one| *one == true)
    }

    /// True if HyperShift runs its control plane, outside its machines.
    pub fn is_hosted(self) -> bool {
        let reference = self.control_plane();
        self.hosted_cluster().is_some() || reference.is_some_and(|it| it.group == group::HYPERSHIFT)
    }

    /// The HostedCluster that it belongs to.
    pub fn hosted_cluster(self) -> Option<KubeRef> {
        let named = self.0.annotations().get(annotation::HOSTED_CLUSTER)?;
        let (namespace, name) = named.split_once('/')?;
        Some(KubeRef::new(namespace, name))
    }
}

/// A reference to a control plane. Newer Clusters omit its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlPlaneReference<'a> {
    pub group: &'a str,
    pub version: Option<&'a str>,
    pub kind: &'a str,
    pub name: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;
    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn both_versions_of_a_machine_say_the_same() {
        let old = object(json!({
            "metadata": {"name": "m", "namespace": "c", "labels": {"cluster.x-k8s.io/cluster-name": "one"}},
            "spec": {
                "clusterName": "one", "failureDomain": "east", "bootstrap": {"dataSecretName": "data"}, "version": "v1.34.4",
                "infrastructureRef": {
                    "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1",
                    "kind": "AgentMachine", "name": "am", "namespace": "c",
                },
            },
            "status": {"conditions": [{"type": "PreTerminateDeleteHookSucceeded", "status": "False"}]},
        }));
        let new = object(json!({
            "metadata": {"name": "m", "namespace": "c"},
            "spec": {
                "clusterName": "one", "failureDomain": "east", "bootstrap": {"dataSecretName": "data"}, "version": "1.34.4",
                "infrastructureRef": {
                    "apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentMachine", "name": "am",
                },
            },
            "status": {"conditions": [
                {"type": "Deleting", "status": "True", "reason": "WaitingForPreTerminateHook"},
            ]},
        }));
        for machine in [Machine(&old), Machine(&new)] {
            assert_eq!(machine.cluster(), Some("one"));
            assert_eq!(machine.failure_domain(), Some("east"));
            assert_eq!(machine.version(), Some("1.34.4"));
            assert_eq!(machine.bootstrap_secret(), Some("data"));
            assert_eq!(machine.agent_machine(), Some(KubeRef::new("c", "am")));
            assert!(machine.awaits_hook());
            assert!(!machine.has_bootstrap_provider());
        }
        let running = object(json!({
            "metadata": {}, "spec": {},
            "status": {"conditions": [{"type": "Deleting", "status": "True", "reason": "DrainingNode"}]},
        }));
        assert!(!Machine(&running).awaits_hook());
    }

    #[test]
    fn a_machine_of_a_control_plane_is_known_by_its_label_or_its_owner() {
        let plain = object(json!({"metadata": {"name": "m"}}));
        let labelled = object(json!({"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}}));
        let owned_by = |version: &str, kind: &str, name: &str| {
            object(json!({"metadata": {"name": "m", "ownerReferences": [
                {"apiVersion": version, "kind": kind, "name": name, "uid": "u", "controller": true},
            ]}}))
        };
        let cluster = object(
            json!({"metadata": {"namespace": "c"}, "spec": {"controlPlaneRef": {
                "apiGroup": "planes.example.test", "kind": "Plane", "name": "p",
            }}}),
        );
        let is_one = |machine: &DynamicObject, agent_machine: &DynamicObject| {
            Machine(machine).is_control_plane(agent_machine, Some(Cluster(&cluster)))
        };
        assert!(is_one(&labelled, &plain) && is_one(&plain, &labelled));
        let kubeadm = owned_by(
            "controlplane.cluster.x-k8s.io/v1beta2",
            "KubeadmControlPlane",
            "k",
        );
        assert!(is_one(&kubeadm, &plain));
        assert!(is_one(&owned_by("planes.example.test/v1", "Plane", "p"), &plain));
        assert!(!is_one(&owned_by("planes.example.test/v1", "Plane", "q"), &plain));
        let worker = owned_by("cluster.x-k8s.io/v1beta2", "MachineSet", "p");
        assert!(!is_one(&worker, &plain));
        assert!(!Machine(&worker).is_control_plane(&plain, None));
    }

    #[test]
    fn the_hooks_of_others_are_those_with_the_prefix_that_are_not_ours() {
        let prefix = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
        let (kcp, ours) = (format!("{prefix}/kcp-cleanup"), format!("{prefix}/agentmachine"));
        let drain = "pre-drain.delete.hook.machine.cluster.x-k8s.io/y";
        let machine = object(json!({"metadata": {"annotations": {
            kcp.clone(): "", ours: "", prefix: "", drain: "",
        }}}));
        let hooks = Machine(&machine).hooks_of_others();
        assert_eq!(hooks, [prefix, kcp.as_str()]);
    }

    #[test]
    fn a_machine_that_a_health_check_replaces_says_why() {
        let with = |conditions: Value| {
            object(json!({"metadata": {"name": "m"}, "status": {"conditions": conditions}}))
        };
        let sick = with(json!([{
            "type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode", "message": "Node is not Ready",
        }]));
        assert_eq!(
            Machine(&sick).failed_health_check().as_deref(),
            Some("the Machine m was unhealthy (UnhealthyNode: Node is not Ready)")
        );
        for other in [
            json!([]),
            json!([{"type": "HealthCheckSucceeded", "status": "True"}]),
            json!([{"type": "Ready", "status": "False"}]),
        ] {
            assert_eq!(Machine(&with(other)).failed_health_check(), None);
        }
    }

    #[test]
    fn the_control_plane_of_a_cluster_is_found_with_and_without_its_version() {
        let old = object(json!({"metadata": {"namespace": "c"}, "spec": {
            "controlPlaneRef": {"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedControlPlane", "name": "h"},
            "infrastructureRef": {"kind": "AgentCluster", "name": "h"},
            "controlPlaneEndpoint": {"host": "", "port": 0},
        }}));
        let new = object(json!({"metadata": {"namespace": "c"}, "spec": {
            "controlPlaneRef": {"apiGroup": "hypershift.openshift.io", "kind": "HostedControlPlane", "name": "h"},
            "infrastructureRef": {"apiGroup": "x", "kind": "AgentCluster", "name": "h"}, "paused": true,
        }}));
        let version = |cluster| {
            Cluster(cluster)
                .control_plane()
                .map(|it| (it.group, it.version, it.name))
        };
        assert_eq!(
            version(&old),
            Some(("hypershift.openshift.io", Some("v1beta1"), "h"))
        );
        assert_eq!(version(&new), Some(("hypershift.openshift.io", None, "h")));
        assert_eq!(Cluster(&old).agent_cluster(), Some(KubeRef::new("c", "h")));
        assert_eq!(
            (Cluster(&old).is_paused(), Cluster(&new).is_paused()),
            (false, true)
        );
        assert!(!Cluster(&old).has_endpoint());
        let kubeadm = object(
            json!({"metadata": {"namespace": "c"}, "spec": {"controlPlaneRef": {
                "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "k",
            }}}),
        );
        let marked =
            object(json!({"metadata": {"annotations": {"hypershift.openshift.io/cluster": "ns/hc"}}}));
        assert!(Cluster(&old).is_hosted() && Cluster(&new).is_hosted() && Cluster(&marked).is_hosted());
        assert!(!Cluster(&kubeadm).is_hosted());
    }
}
