//! Reconciles one HostedCluster: copies the user's Secrets, makes the objects that Machines need, writes its status.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{ListParams, Patch};
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::time::now;
use muster_controller::error::{Error, words};
use muster_controller::references::owner_reference;
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::writes::{patch_params, post_params};
use muster_controller::{finalizers, status as statuses};
use muster_core::record::{KubeRef, Secret as Hidden};
use muster_resources::cluster_api::Cluster;
use muster_resources::hypershift::{
    AGENT, Endpoint, FINALIZER, HOSTED_CLUSTER, HostedCluster, HostedControlPlane, HostedControlPlaneStatus,
    KubeconfigReference, NodePool,
};
use muster_resources::{AgentCluster, names};
use serde_json::{Value, json};

use super::delete;
use super::desired::{self, Pointer};
use super::status::{Facts, Outcome, Problem, Reason, status};
use crate::context::Context;
use crate::nodepool::machine::node::kubeconfig as cluster_api_kubeconfig;
use crate::nodepool::{objects, places, waits};

/// Between two requests to a control plane that responds.
const HEALTH_INTERVAL: Duration = Duration::from_secs(60);

/// Brings the objects of a HostedCluster in line with it.
pub async fn reconcile(hosted: Arc<HostedCluster>, context: Arc<Context>) -> Result<Action, Error> {
    if hosted.metadata.deletion_timestamp.is_some() {
        return delete::delete(&hosted, &context).await;
    }
    if objects::is_paused(hosted.spec.paused_until.as_deref(), now()) {
        write(&hosted, &context, &Outcome::Paused).await?;
        return Ok(Action::requeue(RETRY_INTERVAL));
    }
    if hosted.spec.platform.type_ != AGENT {
        let why = format!("spec.platform.type: only {AGENT} is served here");
        write(&hosted, &context, &Outcome::Refused(why)).await?;
        return Ok(Action::await_change());
    }
    let namespace = hosted.namespace().unwrap_or_default();
    let api = Api::<HostedCluster>::namespaced(context.client.clone(), &namespace);
    let hosted = match finalizers::set(&api, &hosted, FINALIZER).await? {
        Some(newer) => Arc::new(newer),
        None => hosted,
    };
    let facts = converge(&hosted, &context).await?;
    write(&hosted, &context, &Outcome::Reconciled(&facts)).await?;
    let is_done = facts.unavailable.is_none() && facts.invalid.is_none() && facts.waiting.is_none();
    Ok(Action::requeue(if is_done {
        HEALTH_INTERVAL
    } else {
        RETRY_INTERVAL
    }))
}

pub(super) async fn write(
    hosted: &HostedCluster,
    context: &Context,
    outcome: &Outcome<'_>,
) -> Result<(), Error> {
    let mut next = status(hosted, outcome, now());
    let awaited = [
        ("Available", "True"),
        ("ValidConfiguration", "True"),
        ("Progressing", "False"),
    ];
    // Reconciled often enough to show when the wait is overdue.
    waits::tell::<Reason>(context, hosted, &mut next.conditions, &awaited);
    statuses::write(context, hosted, hosted.status.as_ref(), &next).await
}

async fn converge(hosted: &HostedCluster, context: &Context) -> Result<Facts, Error> {
    let client = &context.client;
    if !has_namespace(hosted, context).await? {
        let name = places::namespace(hosted);
        let why = format!(
            "the namespace {name} belongs to another HostedCluster, as its annotation {HOSTED_CLUSTER} shows: make this one under another name"
        );
        let problem = Some((Reason::NamespaceTaken, why));
        return Ok(Facts {
            unavailable: problem.clone(),
            invalid: problem,
            ..Facts::default()
        });
    }
    let mut facts = Facts {
        invalid: agent_namespace(hosted, context).await?,
        ..Facts::default()
    };
    if let Some(problem) = pull_secret(hosted, context).await? {
        facts.invalid.get_or_insert(problem);
    }
    match kubeconfig(hosted, context).await? {
        Ok(()) => reach(hosted, context, &mut facts).await,
        Err(problem) => facts.unavailable = Some(problem),
    }
    let pointer = pointer(hosted, context).await?;
    facts.ignition_endpoint = pointer
        .as_ref()
        .and_then(|pointer| desired::host_of(&pointer.url));

    let cluster = desired::cluster(hosted, facts.endpoint.as_ref());
    let cluster: Cluster = objects::apply(client, &places::cluster(hosted), cluster).await?;
    let mut owner = owner_reference(&cluster);
    owner.controller = Some(true);
    owner.block_owner_deletion = Some(true);
    let owner = json!(owner);
    control_plane(hosted, context, &owner, &facts).await?;
    if let Some(ca) = pointer.as_ref().and_then(|pointer| pointer.ca.as_ref()) {
        let object = desired::secret(hosted, "Opaque", names::key::TLS_CERTIFICATE, ca);
        objects::apply::<Secret>(client, &in_place(hosted, places::IGNITION_CA), object).await?;
    }
    let object = desired::agent_cluster(hosted, &owner, facts.endpoint.as_ref(), pointer.as_ref());
    let agent_cluster: AgentCluster = objects::apply(client, &places::own(hosted), object).await?;
    facts.waiting = waiting(&agent_cluster);
    Ok(facts)
}

/// Makes the namespace for the objects, if it is missing; false if it belongs to another HostedCluster, since two can lead to one name. A
/// namespace that was made by a user is used, and remains the user's.
async fn has_namespace(hosted: &HostedCluster, context: &Context) -> Result<bool, Error> {
    let namespaces = Api::<Namespace>::all(context.client.clone());
    if let Some(present) = namespaces.get_opt(&places::namespace(hosted)).await? {
        return Ok(!places::is_of_another(hosted, &present));
    }
    // If the namespace is made elsewhere meanwhile, this fails, and the next reconcile reads it.
    namespaces
        .create(&post_params(), &desired::namespace(hosted))
        .await?;
    Ok(true)
}

fn in_place(hosted: &HostedCluster, name: &str) -> KubeRef {
    KubeRef::new(places::namespace(hosted), name)
}

/// The wait of the AgentCluster.
fn waiting(agent_cluster: &AgentCluster) -> Option<String> {
    let status = agent_cluster.status.as_ref();
    if status.is_some_and(|status| status.ready) {
        return None;
    }
    let conditions = status.into_iter().flat_map(|status| &status.conditions);
    let open = conditions.filter(|condition| condition.status != "True");
    let why = open
        .map(|condition| condition.message.clone())
        .find(|why| !why.is_empty());
    let name = agent_cluster.name_any();
    Some(why.map_or_else(
        || format!("the AgentCluster {name} is not ready yet"),
        |why| format!("the AgentCluster {name} is not ready: {why}"),
    ))
}

async fn agent_namespace(hosted: &HostedCluster, context: &Context) -> Result<Option<Problem>, Error> {
    let agent = hosted.spec.platform.agent.as_ref();
    let name = agent
        .map(|agent| agent.agent_namespace.as_str())
        .unwrap_or_default();
    let is_there = match name {
        "" => false,
        name => Api::<Namespace>::all(context.client.clone())
            .get_metadata_opt(name)
            .await?
            .is_some(),
    };
    let why = || {
        format!(
            "spec.platform.agent.agentNamespace: there is no namespace {name:?}; name the one with the InfraEnv and its Agents"
        )
    };
    Ok((!is_there).then(|| (Reason::AgentNamespaceMissing, why())))
}

/// Copies the pull secret.
async fn pull_secret(hosted: &HostedCluster, context: &Context) -> Result<Option<Problem>, Error> {
    let Some(given) = hosted
        .spec
        .pull_secret
        .as_ref()
        .filter(|secret| !secret.name.is_empty())
    else {
        return Ok(None);
    };
    let namespace = hosted.namespace().unwrap_or_default();
    let key = names::key::PULL_SECRET;
    match secrets::read_secret(&context.client, &namespace, &given.name, key).await {
        Ok(value) => {
            let type_ = "kubernetes.io/dockerconfigjson";
            let object = desired::secret(hosted, type_, key, value.reveal());
            let place = in_place(hosted, places::PULL_SECRET);
            objects::apply::<Secret>(&context.client, &place, object).await?;
            Ok(None)
        }
        Err(ReferenceError::Api { source, .. }) => Err((*source).into()),
        Err(error) => Ok(Some((
            Reason::PullSecretMissing,
            format!("spec.pullSecret: {error}; create it with the key {key}"),
        ))),
    }
}

/// Copies the administrator's kubeconfig to the names that the infrastructure provider and Cluster API expect.
async fn kubeconfig(hosted: &HostedCluster, context: &Context) -> Result<Result<(), Problem>, Error> {
    let given = places::kubeconfig(hosted);
    let key = names::key::KUBECONFIG;
    let value = match read_kubeconfig(&given, context).await {
        Ok(value) => value,
        Err(ReferenceError::Api { source, .. }) => return Err((*source).into()),
        Err(error) => {
            let why = format!(
                "{error}: create the Secret {given} with the key {key}: the kubeconfig of an administrator of the cluster"
            );
            return Ok(Err((Reason::KubeconfigMissing, why)));
        }
    };
    let client = &context.client;
    let object = desired::secret(hosted, "Opaque", key, value.reveal());
    objects::apply::<Secret>(client, &in_place(hosted, places::ADMIN_KUBECONFIG), object).await?;
    let type_ = desired::CLUSTER_API_SECRET;
    let object = desired::secret(hosted, type_, names::key::CAPI_VALUE, value.reveal());
    objects::apply::<Secret>(client, &cluster_api_secret(hosted), object).await?;
    Ok(Ok(()))
}

/// Reads the kubeconfig. The Secret's key may be HyperShift's or Cluster API's.
async fn read_kubeconfig(given: &KubeRef, context: &Context) -> Result<Hidden, ReferenceError> {
    let (namespace, name) = (&given.namespace, &given.name);
    match secrets::read_secret(&context.client, namespace, name, names::key::KUBECONFIG).await {
        Err(missing @ ReferenceError::NoKey { .. }) => {
            let other = secrets::read_secret(&context.client, namespace, name, names::key::CAPI_VALUE).await;
            other.map_err(|_| missing)
        }
        found => found,
    }
}

fn cluster_api_secret(hosted: &HostedCluster) -> KubeRef {
    let cluster = places::cluster(hosted);
    cluster_api_kubeconfig(&cluster.namespace, &cluster.name)
}

/// Requests the control plane's version.
async fn reach(hosted: &HostedCluster, context: &Context, facts: &mut Facts) {
    let workload = match context.workloads.of_secret(&cluster_api_secret(hosted)).await {
        Ok(workload) => workload,
        Err(error) => {
            facts.unavailable = Some((Reason::KubeconfigInvalid, error.to_string()));
            return;
        }
    };
    facts.endpoint = desired::endpoint(&workload.server);
    match workload.client.apiserver_version().await {
        Ok(version) => facts.version = Some(version.git_version.trim_start_matches('v').to_owned()),
        Err(error) => {
            let why = format!("the API of the cluster at {}: {}", workload.server, words(&error));
            facts.unavailable = Some((Reason::ControlPlaneUnreachable, why));
        }
    }
}

/// The pointer in the bootstrap data of one of the cluster's pools, if there is one.
async fn pointer(hosted: &HostedCluster, context: &Context) -> Result<Option<Pointer>, Error> {
    let namespace = hosted.namespace().unwrap_or_default();
    let pools = Api::<NodePool>::namespaced(context.client.clone(), &namespace);
    let mut pools = pools.list(&ListParams::default()).await?.items;
    pools.retain(|pool| pool.spec.cluster_name == hosted.name_any());
    pools.sort_by_key(ResourceExt::name_any);
    for pool in pools {
        let given = places::user_data(&namespace, &pool.name_any());
        let key = names::key::CAPI_VALUE;
        match secrets::read_secret(&context.client, &given.namespace, &given.name, key).await {
            Ok(data) => {
                if let Some(pointer) = desired::pointer(data.reveal()) {
                    return Ok(Some(pointer));
                }
            }
            Err(ReferenceError::Api { source, .. }) => return Err((*source).into()),
            // Reported by the pool.
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Applies the HostedControlPlane with its status, which no other controller writes here.
async fn control_plane(
    hosted: &HostedCluster,
    context: &Context,
    owner: &Value,
    facts: &Facts,
) -> Result<(), Error> {
    let place = places::own(hosted);
    let object = desired::control_plane(hosted, owner);
    let made: HostedControlPlane = objects::apply(&context.client, &place, object).await?;
    let before = made.status.unwrap_or_default();
    let is_ready = facts.unavailable.is_none();
    let has_kubeconfig = !matches!(&facts.unavailable, Some((Reason::KubeconfigMissing, _)));
    let next = HostedControlPlaneStatus {
        ready: is_ready,
        initialized: before.initialized || is_ready,
        external_managed_control_plane: true,
        kube_config: has_kubeconfig.then(|| KubeconfigReference {
            name: places::ADMIN_KUBECONFIG.into(),
            key: names::key::KUBECONFIG.into(),
        }),
        control_plane_endpoint: facts
            .endpoint
            .clone()
            .filter(|endpoint: &Endpoint| endpoint.port != 0),
    };
    if next != before {
        let api = Api::<HostedControlPlane>::namespaced(context.client.clone(), &place.namespace);
        let mut status = json!(next);
        for member in ["kubeConfig", "controlPlaneEndpoint"] {
            if status.get(member).is_none() {
                status[member] = Value::Null;
            }
        }
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(&place.name, &patch_params(), &patch).await?;
    }
    Ok(())
}
