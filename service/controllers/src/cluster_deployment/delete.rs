//! Deletes a cluster: its Agents return to their InfraEnvs or are deleted with it. Source:
//! docs/protocol/kube-controllers.md#6.4.

use std::collections::HashMap;

use kube::api::{DeleteParams, ListParams, Patch};
use kube::core::DeserializeGuard;
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_controller::conditions::Synced;
use muster_controller::finalizers;
use muster_controller::references::{cluster_ref, deployment_ref, install_ref, kube_ref, may_be_of};
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_operations::unless_missing;
use muster_resources::{Agent, AgentClusterInstall, ClusterDeployment, InfraEnv, names};
use serde_json::json;

use super::mirrored::is_forgotten;
use crate::agent_cluster_install::{self, write_status};
use crate::context::Context;
use crate::error::{Error, unless_absent};

/// Agents in one page of a list: each may be a hundred kilobytes.
const PAGE: u32 = 100;

/// Deletes first the AgentClusterInstall, then the ClusterDeployment.
pub async fn deployment(
    deployment: &ClusterDeployment,
    install: Option<&AgentClusterInstall>,
    context: &Context,
) -> Result<Action, Error> {
    if !finalizers::has(deployment, names::finalizer::CLUSTER_DEPLOYMENT) {
        // The object waits for finalizers of others.
        return Ok(Action::await_change());
    }
    if let Some(install) = install {
        if install.metadata.deletion_timestamp.is_some() {
            return self::install(Some(deployment), install, context).await;
        }
        let api = agent_cluster_install::api(context, install);
        unless_absent(api.delete(&install.name_any(), &DeleteParams::default()).await)?;
        // The watch reports when the AgentClusterInstall is gone, in two steps when a finalizer holds it.
        return Ok(Action::requeue(RETRY_INTERVAL));
    }
    let kube = kube_ref(deployment);
    if !is_forgotten(deployment, context).await? {
        release_agents(&kube, preserves(Some(deployment)), context).await?;
    }
    delete_record(&kube, deployment, context).await?;
    let api = Api::<ClusterDeployment>::namespaced(context.client.clone(), &kube.namespace);
    finalizers::remove(&api, deployment, names::finalizer::CLUSTER_DEPLOYMENT).await?;
    Ok(Action::await_change())
}

/// Deletes the AgentClusterInstall: its Agents are released, the record is deleted.
pub async fn install(
    deployment: Option<&ClusterDeployment>,
    install: &AgentClusterInstall,
    context: &Context,
) -> Result<Action, Error> {
    if !finalizers::has(install, names::finalizer::AGENT_CLUSTER_INSTALL) {
        return Ok(Action::await_change());
    }
    let kube = deployment_ref(install);
    // A ClusterDeployment that names another AgentClusterInstall keeps its cluster.
    let is_its_own =
        deployment.is_none_or(|deployment| install_ref(deployment) == Some(install.name_any().as_str()));
    if is_its_own {
        let forgotten = match deployment {
            Some(deployment) => is_forgotten(deployment, context).await?,
            None => false,
        };
        if !forgotten {
            release_agents(&kube, preserves(deployment), context).await?;
        }
        if let Err(error) = delete_record(&kube, install, context).await {
            let stored = context.operations.clusters.find_by_kube(&kube).await?;
            let why = format!("The deletion waits: {error}");
            write_status(install, context, &Synced::Backend(why), stored.as_ref()).await?;
            return Ok(Action::requeue(RETRY_INTERVAL));
        }
    }
    let api = agent_cluster_install::api(context, install);
    finalizers::remove(&api, install, names::finalizer::AGENT_CLUSTER_INSTALL).await?;
    tracing::info!(install = %kube_ref(install), "AgentClusterInstall resource deleted");
    Ok(Action::await_change())
}

/// Releases the resources of a cluster that `clusterctl move` deletes here: its record and its hosts stay as they are.
pub async fn moved(
    deployment: &ClusterDeployment,
    install: Option<&AgentClusterInstall>,
    context: &Context,
) -> Result<Action, Error> {
    if let Some(install) = install {
        moved_install(install, context).await?;
    }
    if deployment.metadata.deletion_timestamp.is_some() {
        let namespace = deployment.namespace().unwrap_or_default();
        let api = Api::<ClusterDeployment>::namespaced(context.client.clone(), &namespace);
        finalizers::remove(&api, deployment, names::finalizer::CLUSTER_DEPLOYMENT).await?;
    }
    Ok(Action::await_change())
}

/// The same for an AgentClusterInstall alone.
pub async fn moved_install(install: &AgentClusterInstall, context: &Context) -> Result<Action, Error> {
    if install.metadata.deletion_timestamp.is_some() {
        let api = agent_cluster_install::api(context, install);
        finalizers::remove(&api, install, names::finalizer::AGENT_CLUSTER_INSTALL).await?;
    }
    Ok(Action::await_change())
}

fn preserves(deployment: Option<&ClusterDeployment>) -> bool {
    deployment.is_some_and(|deployment| deployment.spec.preserve_on_delete == Some(true))
}

/// Deletes the record of that name, if it exists and belongs to `resource`. Refused while hosts are being installed into the cluster.
async fn delete_record(kube: &KubeRef, resource: &impl Resource, context: &Context) -> Result<(), Error> {
    let found = context.operations.clusters.find_by_kube(kube).await?;
    let Some(stored) = found.filter(|stored| may_be_of(resource, &stored.id)) else {
        return Ok(());
    };
    // A refusal is no mistake in the resource: the deletion is tried again.
    unless_missing(context.operations.delete_cluster(stored.id).await)
        .map_err(|error| Error::internal(error.to_string()))
}

/// The fate of an Agent after its cluster is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The Agent returns to its InfraEnv.
    Unbound,
    /// The Agent is deleted with the cluster.
    Deleted,
}

/// Returns the fate. `of_infra_env`: the cluster of the Agent's InfraEnv, which may have none.
pub(super) fn fate(cluster: &KubeRef, of_infra_env: Option<&KubeRef>, preserve: bool) -> Fate {
    match of_infra_env {
        Some(own) if own == cluster => Fate::Deleted,
        None if preserve => Fate::Deleted,
        Some(_) | None => Fate::Unbound,
    }
}

/// Unbinds or deletes the Agents of the cluster, in all namespaces.
async fn release_agents(cluster: &KubeRef, preserve: bool, context: &Context) -> Result<(), Error> {
    let label = format!(
        "{}={}",
        names::label::CLUSTER_DEPLOYMENT_NAMESPACE,
        cluster.namespace
    );
    let mut infra_envs = HashMap::new();
    for api in context
        .namespaces
        .apis::<DeserializeGuard<Agent>>(&context.client)
    {
        release_labelled(&api, &label, cluster, preserve, &mut infra_envs, context).await?;
    }
    // Agents that wait for the cluster have no label of it yet, and would join the next cluster of its name.
    let waiting = context.agents.keys(|agent| {
        let reference = agent.spec.cluster_deployment_name.as_ref();
        reference.is_some_and(|it| it.name == cluster.name && it.namespace == cluster.namespace)
    });
    for key in waiting {
        let api = Api::<Agent>::namespaced(context.client.clone(), &key.namespace);
        let Some(agent) = api.get_opt(&key.name).await? else {
            continue;
        };
        let namespace = agent.labels().get(names::label::CLUSTER_DEPLOYMENT_NAMESPACE);
        let is_labelled = namespace == Some(&cluster.namespace);
        if agent.metadata.deletion_timestamp.is_none() && belongs_to(&agent, cluster) && !is_labelled {
            release(&agent, Fate::Unbound, context).await?;
        }
    }
    Ok(())
}

/// Unbinds or deletes the Agents with the label.
async fn release_labelled(
    api: &Api<DeserializeGuard<Agent>>,
    label: &str,
    cluster: &KubeRef,
    preserve: bool,
    infra_envs: &mut HashMap<KubeRef, Option<KubeRef>>,
    context: &Context,
) -> Result<(), Error> {
    let mut params = ListParams::default().labels(label).limit(PAGE);
    loop {
        let page = api.list(&params).await?;
        let next = page.metadata.continue_.clone().filter(|token| !token.is_empty());
        // An Agent that cannot be read is left as it is; its host is deleted with the record of the cluster.
        for agent in page.items.into_iter().filter_map(|agent| agent.0.ok()) {
            if agent.metadata.deletion_timestamp.is_some() || !belongs_to(&agent, cluster) {
                continue;
            }
            let fate = if cluster.namespace == names::namespace::MIRROR {
                // REST's rule about hosts is applied when the record is deleted.
                Fate::Unbound
            } else {
                let own = infra_env_cluster(&agent, infra_envs, context).await?;
                fate(cluster, own.as_ref(), preserve)
            };
            release(&agent, fate, context).await?;
        }
        let Some(token) = next else {
            return Ok(());
        };
        params = params.continue_token(&token);
    }
}

fn belongs_to(agent: &Agent, cluster: &KubeRef) -> bool {
    let reference = agent.spec.cluster_deployment_name.as_ref();
    reference.is_some_and(|it| it.name == cluster.name && it.namespace == cluster.namespace)
}

/// The cluster of the Agent's InfraEnv. Each InfraEnv is read once.
async fn infra_env_cluster(
    agent: &Agent,
    known: &mut HashMap<KubeRef, Option<KubeRef>>,
    context: &Context,
) -> Result<Option<KubeRef>, Error> {
    let namespace = agent.namespace().unwrap_or_default();
    let Some(name) = agent.labels().get(names::label::INFRA_ENV) else {
        return Ok(None);
    };
    let kube = KubeRef::new(&namespace, name);
    if let Some(cluster) = known.get(&kube) {
        return Ok(cluster.clone());
    }
    let api = Api::<InfraEnv>::namespaced(context.client.clone(), &namespace);
    let found = api.get_opt(name).await?;
    let cluster = found.as_ref().and_then(cluster_ref);
    known.insert(kube, cluster.clone());
    Ok(cluster)
}

async fn release(agent: &Agent, fate: Fate, context: &Context) -> Result<(), Error> {
    let api = Api::<Agent>::namespaced(context.client.clone(), &agent.namespace().unwrap_or_default());
    let name = agent.name_any();
    let done = match fate {
        Fate::Deleted => api.delete(&name, &DeleteParams::default()).await.map(drop),
        Fate::Unbound => {
            let patch = Patch::Merge(json!({"spec": {"clusterDeploymentName": null}}));
            api.patch_metadata(&name, &patch_params(), &patch).await.map(drop)
        }
    };
    unless_absent(done)?;
    Ok(())
}
