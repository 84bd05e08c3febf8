//! Writes on an Agent that it is taken, and that it is given back: one patch each. Source:
//! docs/protocol/capi-agent-provider.md#2 step 10, §4.

use std::collections::BTreeMap;

use kube::api::Patch;
use kube::{Api, Client, ResourceExt};
use muster_controller::writes::patch_params;
use muster_core::record::{ImageWish, KubeRef};
use muster_resources::names::{annotation, label};
use muster_resources::{ClusterReference, NamespacedReference};
use serde_json::{Map, Value, json};

use crate::capi::agents::AgentView;
use crate::capi::prepared::Data;

/// Role of hosts of a control plane, and that of hosts without one, in an Agent's spec.
const MASTER: &str = "master";
const NO_ROLE: &str = "auto-assign";

/// The desired state of an Agent that was taken. Its name and disk are the user's, and so is the role of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    machine: KubeRef,
    cluster: ClusterReference,
    machine_config_pool: Option<String>,
    token: Option<NamespacedReference>,
    headers: BTreeMap<String, String>,
    image: ImageWish,
    is_control_plane: bool,
    /// Time of the request to install the host again.
    reinstall: Option<String>,
}

impl Binding {
    /// Returns the binding for `machine` of `cluster`. Without data, the Ignition endpoint is not changed.
    pub fn new(machine: KubeRef, cluster: &KubeRef, data: Option<&Data>) -> Self {
        let bootstrap = data.map(|data| &data.bootstrap);
        let pool = bootstrap.and_then(|it| it.machine_config_pool());
        Self {
            machine,
            cluster: ClusterReference {
                name: cluster.name.clone(),
                namespace: cluster.namespace.clone(),
            },
            machine_config_pool: pool.map(str::to_owned),
            token: data.map(|data| data.reference.clone()),
            headers: bootstrap.map(|it| it.headers()).unwrap_or_default(),
            image: ImageWish::default(),
            is_control_plane: false,
            reinstall: None,
        }
    }

    /// The same with a request to install the host again: in one write with the bootstrap data and the image that it is for.
    pub fn with_reinstall(self, requested: Option<String>) -> Self {
        Self {
            reinstall: requested,
            ..self
        }
    }

    /// The same for a machine of a control plane, if it is one: its host is checked as one, and shown as one.
    pub fn of_control_plane(self, is_control_plane: bool) -> Self {
        Self {
            is_control_plane,
            ..self
        }
    }

    /// The same with an image for the disk.
    pub fn with_image(self, image: ImageWish) -> Self {
        Self { image, ..self }
    }

    /// The annotations of a taken Agent; `None`: it has none of this name.
    fn annotations(&self) -> [(&'static str, Option<&str>); 4] {
        [
            (
                annotation::AGENT_MACHINE_REF_NAMESPACE,
                Some(self.machine.namespace.as_str()),
            ),
            (annotation::AGENT_OS_IMAGE, given(&self.image.name)),
            (
                annotation::AGENT_KUBERNETES_VERSION,
                given(&self.image.kubernetes_version),
            ),
            (annotation::AGENT_REINSTALL_REQUESTED, self.reinstall.as_deref()),
        ]
    }

    /// The AgentMachine that the Agent is taken for.
    pub fn machine(&self) -> &KubeRef {
        &self.machine
    }

    /// The merge patch that brings `agent` to this state; `None`: nothing differs. It fails with a conflict if the Agent was changed
    /// since it was read.
    pub fn patch(&self, agent: &AgentView) -> Option<Value> {
        let mut spec = Map::new();
        if agent.spec.cluster_deployment_name.as_ref() != Some(&self.cluster) {
            spec.insert("clusterDeploymentName".into(), json!(self.cluster));
        }
        let pool = agent
            .spec
            .machine_config_pool
            .as_ref()
            .filter(|pool| !pool.is_empty());
        if pool != self.machine_config_pool.as_ref() {
            spec.insert("machineConfigPool".into(), json!(self.machine_config_pool));
        }
        if agent.spec.ignition_endpoint_token_reference != self.token {
            spec.insert("ignitionEndpointTokenReference".into(), json!(self.token));
        }
        if agent.spec.ignition_endpoint_http_headers != self.headers {
            let old = agent.spec.ignition_endpoint_http_headers.keys();
            let mut headers: Map<String, Value> = old.map(|name| (name.clone(), Value::Null)).collect();
            let new = self.headers.iter();
            headers.extend(new.map(|(name, value)| (name.clone(), json!(value))));
            spec.insert("ignitionEndpointHTTPHeaders".into(), headers.into());
        }
        let mut annotations = Map::new();
        for (key, wanted) in self.annotations() {
            if agent.annotations().get(key).map(String::as_str) != wanted {
                annotations.insert(key.to_owned(), json!(wanted));
            }
        }
        let is_labelled = agent.labels().get(label::AGENT_MACHINE_REF) == Some(&self.machine.name);
        let is_taken = is_labelled && !annotations.contains_key(annotation::AGENT_MACHINE_REF_NAMESPACE);
        // Later, the role may be a user's choice.
        if self.is_control_plane && !is_taken && agent.spec.role != MASTER {
            spec.insert("role".into(), json!(MASTER));
            annotations.insert(annotation::ROLE_BEFORE.into(), json!(agent.spec.role));
        }
        if spec.is_empty() && is_labelled && annotations.is_empty() {
            return None;
        }
        let mut patch = json!({"metadata": {
            "resourceVersion": agent.resource_version(),
            "labels": {label::AGENT_MACHINE_REF: self.machine.name},
        }});
        if !annotations.is_empty() {
            patch["metadata"]["annotations"] = annotations.into();
        }
        if !spec.is_empty() {
            patch["spec"] = spec.into();
        }
        Some(patch)
    }
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// The merge patch that gives `agent` back. `failed`: the reason for which its machine is replaced.
fn release(agent: &AgentView, failed: Option<&str>) -> Value {
    let mut patch = json!({
        "metadata": {
            "resourceVersion": agent.resource_version(),
            "labels": {label::AGENT_MACHINE_REF: null},
            "annotations": {
                annotation::AGENT_MACHINE_REF_NAMESPACE: null, annotation::AGENT_REBOOT_REQUESTED: null,
                annotation::AGENT_OS_IMAGE: null, annotation::AGENT_KUBERNETES_VERSION: null,
                annotation::AGENT_REINSTALL_REQUESTED: null,
            },
        },
        "spec": {
            "clusterDeploymentName": null, "machineConfigPool": null,
            "ignitionEndpointTokenReference": null, "ignitionEndpointHTTPHeaders": null,
        },
    });
    if let Some(role) = agent.annotations().get(annotation::ROLE_BEFORE) {
        patch["metadata"]["annotations"][annotation::ROLE_BEFORE] = Value::Null;
        // An empty role would leave the host the one that it has.
        patch["spec"]["role"] = json!(if role.is_empty() { NO_ROLE } else { role.as_str() });
    }
    if let Some(failed) = failed {
        patch["metadata"]["annotations"][annotation::AGENT_NODE_FAILED] = failed.into();
    }
    patch
}

/// The API for Agents in the namespace of `agent`.
pub fn api(client: &Client, agent: &KubeRef) -> Api<AgentView> {
    Api::namespaced(client.clone(), &agent.namespace)
}

/// Sends a merge patch. Returns the Agent as patched.
///
/// # Errors
/// Fails if the API server does; with a conflict if the Agent changed.
pub async fn send(client: &Client, agent: &KubeRef, patch: Value) -> kube::Result<AgentView> {
    api(client, agent)
        .patch(&agent.name, &patch_params(), &Patch::Merge(patch))
        .await
}

/// Gives `agent` back.
///
/// # Errors
/// Fails like [`send`].
pub async fn give_back(client: &Client, agent: &AgentView) -> kube::Result<AgentView> {
    send(client, &agent.candidate.host, release(agent, None)).await
}

/// Gives `agent` back whose machine is replaced for this reason.
///
/// # Errors
/// Fails like [`send`].
pub async fn give_back_failed(client: &Client, agent: &AgentView, why: &str) -> kube::Result<AgentView> {
    send(client, &agent.candidate.host, release(agent, Some(why))).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_core::record::Secret;

    use super::*;
    use crate::capi::bootstrap::Bootstrap;

    fn agent(value: Value) -> AgentView {
        serde_json::from_value(value).unwrap()
    }

    fn data() -> Data {
        Data {
            bootstrap: Arc::new(Bootstrap::Pointer {
                token: Secret::new("t".to_owned()),
                headers: BTreeMap::from([("NodePool".into(), "clusters/np".into())]),
                machine_config_pool: "ignition".into(),
            }),
            reference: NamespacedReference {
                name: "agent-data".into(),
                namespace: "c".into(),
            },
        }
    }

    #[test]
    fn an_agent_is_given_back_with_the_reason_if_its_machine_failed() {
        let taken = agent(json!({
            "metadata": {"name": "a", "namespace": "hardware", "resourceVersion": "7"}, "spec": {"approved": true, "role": ""},
        }));
        let of = |failed| release(&taken, failed)["metadata"]["annotations"].clone();
        let own = "agent.agent-install.openshift.io";
        let mut wanted = json!({
            "agentMachineRefNamespace": null, format!("{own}/os-image"): null,
            format!("{own}/kubernetes-version"): null, format!("{own}/reboot-requested"): null,
            format!("{own}/reinstall-requested"): null,
        });
        assert_eq!(of(None), wanted);
        wanted[format!("{own}/node-failed")] = json!("why");
        assert_eq!(of(Some("why")), wanted);
    }

    #[test]
    fn an_agent_is_taken_by_one_patch_and_one_that_is_taken_so_by_none() {
        let binding = Binding::new(KubeRef::new("c", "m"), &KubeRef::new("c", "one"), Some(&data()));
        let free = agent(json!({
            "metadata": {"name": "a", "namespace": "hardware", "resourceVersion": "7"},
            "spec": {"approved": true, "role": "", "ignitionEndpointHTTPHeaders": {"Old": "x"}},
        }));
        let wanted = json!({
            "metadata": {
                "resourceVersion": "7", "labels": {"agentMachineRef": "m"},
                "annotations": {"agentMachineRefNamespace": "c"},
            },
            "spec": {
                "clusterDeploymentName": {"name": "one", "namespace": "c"}, "machineConfigPool": "ignition",
                "ignitionEndpointTokenReference": {"name": "agent-data", "namespace": "c"},
                "ignitionEndpointHTTPHeaders": {"Old": null, "NodePool": "clusters/np"},
            },
        });
        assert_eq!(binding.patch(&free), Some(wanted));
        let taken = agent(json!({
            "metadata": {
                "name": "a", "namespace": "hardware", "labels": {"agentMachineRef": "m"},
                "annotations": {"agentMachineRefNamespace": "c"},
            },
            "spec": {
                "approved": true, "role": "", "clusterDeploymentName": {"name": "one", "namespace": "c"},
                "machineConfigPool": "ignition",
                "ignitionEndpointTokenReference": {"name": "agent-data", "namespace": "c"},
                "ignitionEndpointHTTPHeaders": {"NodePool": "clusters/np"},
            },
        }));
        assert_eq!(binding.patch(&taken), None);
        // The image is part of the same patch, and a change of it alone is one.
        let imaged = binding.clone().with_image(ImageWish {
            name: "debian-13".into(),
            kubernetes_version: "1.34.4".into(),
        });
        let images = json!({
            "agent.agent-install.openshift.io/os-image": "debian-13",
            "agent.agent-install.openshift.io/kubernetes-version": "1.34.4",
        });
        let patch = imaged.patch(&taken).unwrap();
        assert_eq!(patch["metadata"]["annotations"], images);
        assert!(patch.get("spec").is_none());
        let mut with_images = images.as_object().unwrap().clone();
        with_images.insert("agentMachineRefNamespace".into(), "c".into());
        let with_images = agent(json!({
            "metadata": {
                "name": "a", "namespace": "hardware", "labels": {"agentMachineRef": "m"}, "annotations": with_images,
            },
            "spec": json!(taken.spec),
        }));
        assert_eq!(imaged.patch(&with_images), None);
        let gone = binding.patch(&with_images).unwrap();
        assert_eq!(
            gone["metadata"]["annotations"]["agent.agent-install.openshift.io/os-image"],
            Value::Null
        );
        let released = release(&with_images, None);
        for (key, value) in released["metadata"]["annotations"].as_object().unwrap() {
            assert!(value.is_null(), "{key}");
        }
        // The role of a worker is the user's.
        assert_eq!(
            binding.clone().of_control_plane(false).patch(&free),
            binding.patch(&free)
        );
        let other = Binding::new(KubeRef::new("c", "m"), &KubeRef::new("c", "one"), None);
        let patch = other.patch(&taken).unwrap();
        assert_eq!(
            patch["spec"]["ignitionEndpointHTTPHeaders"],
            json!({"NodePool": null})
        );
        assert_eq!(patch["spec"]["machineConfigPool"], Value::Null);
        assert!(patch["spec"].get("clusterDeploymentName").is_none());
    }

    #[test]
    fn a_host_of_a_control_plane_is_a_master_until_it_is_given_back() {
        const BEFORE: &str = "capi-provider.agent-install.openshift.io/role-before";
        let binding = Binding::new(KubeRef::new("c", "m"), &KubeRef::new("c", "one"), None);
        let binding = binding.of_control_plane(true);
        for (role, returned) in [("", "auto-assign"), ("worker", "worker")] {
            let free = agent(json!({
                "metadata": {"name": "a", "namespace": "hardware"}, "spec": {"approved": true, "role": role},
            }));
            let patch = binding.patch(&free).unwrap();
            assert_eq!(patch["spec"]["role"], "master");
            assert_eq!(patch["metadata"]["annotations"][BEFORE], role);
            let taken = agent(json!({
                "metadata": {
                    "name": "a", "namespace": "hardware", "labels": {"agentMachineRef": "m"},
                    "annotations": {"agentMachineRefNamespace": "c", BEFORE: role},
                },
                "spec": {
                    "approved": true, "role": "master", "clusterDeploymentName": {"name": "one", "namespace": "c"},
                },
            }));
            assert_eq!(binding.patch(&taken), None);
            let patch = release(&taken, None);
            assert_eq!(patch["spec"]["role"], returned);
            assert_eq!(patch["metadata"]["annotations"][BEFORE], Value::Null);
        }
        // A user's own choice stays.
        let chosen = agent(json!({
            "metadata": {"name": "a", "namespace": "hardware"}, "spec": {"approved": true, "role": "master"},
        }));
        for patch in [binding.patch(&chosen).unwrap(), release(&chosen, None)] {
            assert!(patch["spec"].get("role").is_none(), "{patch}");
            assert!(patch["metadata"]["annotations"].get(BEFORE).is_none(), "{patch}");
        }
    }
}
