//! Sets the provider id of the Node of an installed host, where no service does: Cluster API finds the Node of a Machine by it. Source:
//! docs/protocol/capi-agent-provider.md#6.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::Patch;
use kube::core::DynamicObject;
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_controller::error::{Error, unless_absent, words};
use muster_controller::events::warning;
use muster_controller::references::object_ref;
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_resources::{AgentMachine, ClusterDeployment};
use serde_json::{Value, json};

use super::addresses::HOST_NAME;
use super::objects::Cluster;
use super::provider::Provider;

/// Between two looks for a Node that is not there. Source: docs/protocol/capi-agent-provider.md#6.
const INTERVAL: Duration = Duration::from_secs(30);

/// Sets the provider id of the Node of an AgentMachine that is ready, unless it has one.
///
/// # Errors
/// Fails if the API server of the management cluster does; that of the Node's cluster is tried again.
pub async fn set_provider_id(
    object: &AgentMachine,
    cluster: Option<&DynamicObject>,
    provider: &Provider,
) -> Result<Action, Error> {
    let (Some(id), Some(name)) = (object.spec.provider_id.as_deref(), host_name(object)) else {
        return Ok(Action::await_change());
    };
    let Some(deployment) = deployment(object, cluster, provider).await? else {
        return Ok(Action::requeue(INTERVAL));
    };
    let workload = match provider.context.workloads.of_deployment(&deployment).await {
        Ok(workload) => workload,
        Err(why) => return Ok(later(object, &why.to_string())),
    };
    let api = Api::<Node>::all(workload.client.clone());
    let node = match api.get_opt(name).await {
        Ok(Some(node)) => node,
        Ok(None) => return Ok(later(object, &format!("the cluster has no Node {name}"))),
        Err(error) => return Ok(later(object, &words(&error))),
    };
    let present = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    match present.filter(|present| !present.is_empty()) {
        Some(present) if present == id => Ok(Action::await_change()),
        Some(present) => {
            let why = format!(
                "The Node {name} has the provider id {present}, and {id} is this host's: another machine has its name. Delete that Node if its machine is \
                 gone, or give one of the two another name"
            );
            let event = warning("SetProviderID", "ForeignProviderID", &why);
            provider.context.events.publish(event, object.object_ref(&()));
            Ok(Action::requeue(INTERVAL * 10))
        }
        None => {
            let patch: Patch<Value> = Patch::Merge(json!({
                "metadata": {"resourceVersion": node.resource_version()}, "spec": {"providerID": id},
            }));
            match api.patch(name, &patch_params(), &patch).await {
                Ok(_) => {
                    tracing::info!(node = name, provider_id = id, "Node changed");
                    Ok(Action::await_change())
                }
                Err(error) => Ok(later(object, &words(&error))),
            }
        }
    }
}

fn later(object: &AgentMachine, why: &str) -> Action {
    tracing::debug!(
        machine = object.name_any(),
        why,
        "the provider id of a Node is set later"
    );
    Action::requeue(INTERVAL)
}

/// The name of the host, and of its Node.
fn host_name(object: &AgentMachine) -> Option<&str> {
    let addresses = object.status.as_ref()?.addresses.iter();
    let mut names = addresses.filter(|one| one.type_ == HOST_NAME);
    names.next().map(|one| one.address.as_str())
}

/// The ClusterDeployment of the host's cluster.
async fn deployment(
    object: &AgentMachine,
    cluster: Option<&DynamicObject>,
    provider: &Provider,
) -> Result<Option<ClusterDeployment>, Error> {
    let agent_cluster = cluster.and_then(|cluster| Cluster(cluster).agent_cluster());
    let agent_cluster = agent_cluster.and_then(|name| provider.agent_clusters.get(&object_ref(&name)));
    let reference = agent_cluster.as_ref().and_then(|found| found.status.as_ref());
    let Some(reference) = reference.map(|status| &status.cluster_deployment_reference) else {
        return Ok(None);
    };
    if reference.name.is_empty() {
        return Ok(None);
    }
    // Made in the namespace of the AgentCluster.
    let namespace = object.namespace().unwrap_or_default();
    let name = KubeRef::new(namespace, &reference.name);
    let api = Api::<ClusterDeployment>::namespaced(provider.context.client.clone(), &name.namespace);
    unless_absent(api.get(&name.name).await)
}
