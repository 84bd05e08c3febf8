//! Writes on an Agent that it is taken, and that it is given back: one patch each. Source:
//! docs/protocol/capi-agent-provider.md#2 step 10, §4.

use std::collections::BTreeMap;

use kube::api::Patch;
use kube::{Api, Client, ResourceExt};
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_resources::names::{annotation, label};
use muster_resources::{ClusterReference, NamespacedReference};
use serde_json::{Map, Value, json};

use crate::capi::agents::AgentView;
use crate::capi::prepared::Data;

/// The desired state of an Agent that was taken. Its name, role and disk are the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    machine: KubeRef,
    cluster: ClusterReference,
    machine_config_pool: Option<String>,
    token: Option<NamespacedReference>,
    headers: BTreeMap<String, String>,
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
        }
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
        let is_labelled = agent.labels().get(label::AGENT_MACHINE_REF) == Some(&self.machine.name)
            && agent.annotations().get(annotation::AGENT_MACHINE_REF_NAMESPACE)
                == Some(&self.machine.namespace);
        if spec.is_empty() && is_labelled {
            return None;
        }
        let mut patch = json!({"metadata": {
            "resourceVersion": agent.resource_version(),
            "labels": {label::AGENT_MACHINE_REF: self.machine.name},
            "annotations": {annotation::AGENT_MACHINE_REF_NAMESPACE: self.machine.namespace},
        }});
        if !spec.is_empty() {
            patch["spec"] = spec.into();
        }
        Some(patch)
    }
}

/// The merge patch that gives `agent` back.
fn release(agent: &AgentView) -> Value {
    json!({
        "metadata": {
            "resourceVersion": agent.resource_version(),
            "labels": {label::AGENT_MACHINE_REF: null},
            "annotations": {
                annotation::AGENT_MACHINE_REF_NAMESPACE: null, annotation::AGENT_REBOOT_REQUESTED: null,
            },
        },
        "spec": {
            "clusterDeploymentName": null, "machineConfigPool": null,
            "ignitionEndpointTokenReference": null, "ignitionEndpointHTTPHeaders": null,
        },
    })
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
    send(client, &agent.candidate.host, release(agent)).await
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
        let other = Binding::new(KubeRef::new("c", "m"), &KubeRef::new("c", "one"), None);
        let patch = other.patch(&taken).unwrap();
        assert_eq!(
            patch["spec"]["ignitionEndpointHTTPHeaders"],
            json!({"NodePool": null})
        );
        assert_eq!(patch["spec"]["machineConfigPool"], Value::Null);
        assert!(patch["spec"].get("clusterDeploymentName").is_none());
    }
}
