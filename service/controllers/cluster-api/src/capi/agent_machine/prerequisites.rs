//! Collects the prerequisites of taking an Agent: the cluster's ClusterDeployment and the bootstrap data.
//! Source: docs/protocol/capi-agent-provider.md#2 steps 6 and 8, §3.

use std::time::Instant;

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt};
use muster_controller::error::{Error, unless_absent};
use muster_controller::references::object_ref;
use muster_core::record::KubeRef;
use muster_resources::names::{annotation, group};
use muster_resources::{AgentCluster, AgentMachine};
use serde_json::Value;

use crate::capi::objects::{Cluster, Machine};
use crate::capi::prepared::{Data, NoData};
use crate::capi::provider::Provider;

/// The prerequisites of taking an Agent.
pub struct Prerequisites {
    /// The ClusterDeployment that the Agent is bound to.
    pub deployment: KubeRef,
    /// Bootstrap data; `Ok(None)`: the Machine names none and no controller will make any.
    pub data: Result<Option<Data>, NoData>,
    /// The namespace to take Agents from, if its InfraEnvs give them.
    pub namespace: String,
}

/// Returns all prerequisites, or the reason of a wait, as a sentence.
///
/// # Errors
/// Fails if the API server does.
pub async fn prerequisites(
    object: &AgentMachine,
    machine: Machine<'_>,
    cluster: Option<&DynamicObject>,
    provider: &Provider,
) -> Result<Result<Prerequisites, String>, Error> {
    let name = machine.cluster().unwrap_or_default();
    let Some(cluster) = cluster.map(Cluster) else {
        return Ok(Err(format!("Waits for the Cluster {name:?} of the Machine")));
    };
    let Some(agent_cluster) = cluster.agent_cluster() else {
        return Ok(Err(format!(
            "The Cluster {name} has no AgentCluster as its infrastructure; name one in its spec.infrastructureRef"
        )));
    };
    let Some(found) = provider.agent_clusters.get(&object_ref(&agent_cluster)) else {
        return Ok(Err(format!("Waits for the AgentCluster {agent_cluster}")));
    };
    let deployment = found
        .status
        .as_ref()
        .map(|status| &status.cluster_deployment_reference);
    let Some(deployment) = deployment.filter(|it| !it.name.is_empty()) else {
        return Ok(Err(format!(
            "Waits for the AgentCluster {agent_cluster} to have a ClusterDeployment; its conditions show why it has none"
        )));
    };
    let namespace = match agent_namespace(object, &found, cluster, provider).await? {
        Ok(namespace) => namespace,
        Err(why) => return Ok(Err(why)),
    };
    let own = object.namespace().unwrap_or_default();
    let data = match machine.bootstrap_secret() {
        Some(secret) => {
            let client = &provider.context.client;
            provider.prepared.get(client, &own, secret).await.map(Some)
        }
        None if machine.has_bootstrap_provider() => Err(NoData::Input(
            "Waits for the Machine's bootstrap data: its spec.bootstrap.dataSecretName is not set yet".into(),
        )),
        None => Ok(None),
    };
    let namespace_of = |given: &str| {
        if given.is_empty() {
            own.clone()
        } else {
            given.to_owned()
        }
    };
    Ok(Ok(Prerequisites {
        deployment: KubeRef::new(namespace_of(&deployment.namespace), &deployment.name),
        data,
        namespace,
    }))
}

/// The sentence that names the missing data.
///
/// # Errors
/// Fails if the cause may pass without a user.
pub fn missing_data(no_data: NoData) -> Result<String, Error> {
    match no_data {
        NoData::Input(why) => Ok(why),
        NoData::Later(error) => Err(error),
    }
}

/// The namespace to take Agents from: the only one that there is, that of an annotation, or of the HostedCluster; else the AgentMachine's own.
/// Or the reason of a wait, as a sentence.
///
/// # Errors
/// Fails if the API server does.
pub async fn agent_namespace(
    object: &AgentMachine,
    agent_cluster: &AgentCluster,
    cluster: Cluster<'_>,
    provider: &Provider,
) -> Result<Result<String, String>, Error> {
    if let Some(pool) = provider.context.only_pool() {
        return Ok(Ok(pool.namespace.clone()));
    }
    let given = object.annotations().get(annotation::AGENT_NAMESPACE);
    let given = given.or_else(|| agent_cluster.annotations().get(annotation::AGENT_NAMESPACE));
    if let Some(namespace) = given {
        return Ok(Ok(namespace.clone()));
    }
    let own = object.namespace().unwrap_or_default();
    let Some(hosted) = cluster.hosted_cluster() else {
        return Ok(Ok(own));
    };
    if let Some((known, _)) = provider.agent_namespaces.get(&hosted, Instant::now()) {
        return Ok(Ok(known.unwrap_or(own)));
    }
    let kind = GroupVersionKind::gvk(group::HYPERSHIFT, "v1beta1", "HostedCluster");
    let kind = ApiResource::from_gvk_with_plural(&kind, "hostedclusters");
    let client = provider.context.client.clone();
    let api = Api::<DynamicObject>::namespaced_with(client, &hosted.namespace, &kind);
    let Some(found) = unless_absent(api.get(&hosted.name).await)? else {
        return Ok(Err(format!(
            "Waits for the HostedCluster {hosted}, which names the namespace of the Agents that may be taken"
        )));
    };
    let namespace = found.data.pointer("/spec/platform/agent/agentNamespace");
    let namespace = namespace
        .and_then(Value::as_str)
        .filter(|namespace| !namespace.is_empty());
    let namespace = namespace.map(str::to_owned);
    provider
        .agent_namespaces
        .set(hosted, namespace.clone(), Instant::now());
    Ok(Ok(namespace.unwrap_or(own)))
}
