//! Reads Machines and Clusters of Cluster API, in the forms of both versions, and marks objects that the
//! provider reconciles. Source: docs/protocol/capi-agent-provider.md#2 and §4.

use std::fmt::Debug;
use std::sync::Arc;

use kube::core::DynamicObject;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Resource, ResourceExt};
use muster_controller::error::Error;
use muster_controller::finalizers;
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_resources::names::{annotation, label};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
        let lists = [
            "/status/conditions",
            "/status/v1beta2/conditions",
            "/status/deprecated/v1beta1/conditions",
        ];
        let conditions = lists
            .into_iter()
            .filter_map(|list| self.0.data.pointer(list))
            .filter_map(Value::as_array)
            .flatten();
        conditions.into_iter().any(|one| match one["type"].as_str() {
            Some("Deleting") => one["reason"] == "WaitingForPreTerminateHook",
            Some("PreTerminateDeleteHookSucceeded") => one["status"] != "True",
            _ => false,
        })
    }

    pub fn has_hook(self) -> bool {
        self.0.annotations().contains_key(annotation::PRE_TERMINATE_HOOK)
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
                "clusterName": "one", "failureDomain": "east", "bootstrap": {"dataSecretName": "data"},
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
                "clusterName": "one", "failureDomain": "east", "bootstrap": {"dataSecretName": "data"},
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
    }
}
