//! Reconciles one AgentCluster. Source: docs/protocol/capi-agent-provider.md#5.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, Patch};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::controller::Action;
use kube::runtime::reflector::Store;
use kube::{Api, Client, Resource, ResourceExt};
use muster_api::time::now;
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_controller::health;
use muster_controller::references::{cluster_api_owner, kube_ref, with_owner};
use muster_controller::retry::soonest;
use muster_controller::status::write;
use muster_controller::writes::{patch_params, post_params};
use muster_core::record::KubeRef;
use muster_resources::names::{annotation, finalizer, label};
use muster_resources::{
    AgentCluster, AgentClusterInstall, ClusterDeployment, ClusterReference, FailureDomain,
};
use serde_json::{Value, json};

use super::control_plane::{ControlPlane, control_plane};
use super::desired;
use super::endpoint;
use super::status::{self, Found, Reason};
use crate::capi::objects::{Cluster, adopted, find, is_managed_elsewhere, is_paused};
use crate::capi::zones::{Place, Zones};
use crate::context::Context;

/// Between two reads of a control plane, which no watch shows. Source: docs/protocol/capi-agent-provider.md#5.
const CONTROL_PLANE_INTERVAL: Duration = Duration::from_secs(5);

/// Between two requests to what answers at the address of a new cluster's API.
const ENDPOINT_INTERVAL: Duration = Duration::from_secs(15);

/// Clusters of Cluster API, and the zones of hosts for them.
pub struct Clusters {
    pub kind: ApiResource,
    pub store: Store<DynamicObject>,
    pub zones: Arc<Zones>,
}

impl Clusters {
    /// The Cluster of that name, from the watch, or, if the watch has not shown it yet, from the API server.
    async fn get(&self, client: &Client, name: &KubeRef) -> Result<Option<Arc<DynamicObject>>, Error> {
        if let Some(found) = find(&self.store, &self.kind, name) {
            return Ok(Some(found));
        }
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), &name.namespace, &self.kind);
        Ok(api.get_opt(&name.name).await?.map(Arc::new))
    }

    /// True if the failure domains of an AgentCluster are others than its status has.
    pub fn has_other_domains(&self, object: &AgentCluster) -> bool {
        let owner = cluster_api_owner(object, "Cluster");
        let cluster = owner.and_then(|owner| {
            let name = KubeRef::new(object.namespace().unwrap_or_default(), &owner.name);
            find(&self.store, &self.kind, &name)
        });
        let domains = cluster.and_then(|cluster| self.domains(object, Cluster(&cluster)));
        let known = object.status.as_ref().map(|status| &status.failure_domains);
        domains.is_some_and(|domains| known.map_or(!domains.is_empty(), |known| *known != domains))
    }

    /// The failure domains of an AgentCluster; `None`: they are not known yet. Only control planes need some, and HyperShift runs its own.
    fn domains(&self, object: &AgentCluster, cluster: Cluster<'_>) -> Option<Vec<FailureDomain>> {
        if cluster.is_hosted() {
            return Some(Vec::new());
        }
        let own = object.namespace().unwrap_or_default();
        let deployment = object
            .status
            .as_ref()
            .map(|status| &status.cluster_deployment_reference)
            .filter(|it| !it.name.is_empty())
            .map(|it| {
                let namespace = if it.namespace.is_empty() {
                    &own
                } else {
                    &it.namespace
                };
                KubeRef::new(namespace, &it.name)
            });
        self.zones.domains(Place {
            machines: &own,
            agents: object
                .annotations()
                .get(annotation::AGENT_NAMESPACE)
                .unwrap_or(&own),
            deployment: deployment.as_ref(),
        })
    }
}

/// Creates ClusterDeployment and AgentClusterInstall, and reports whether Machines can be made.
pub async fn reconcile(
    object: Arc<AgentCluster>,
    context: &Context,
    clusters: &Clusters,
) -> Result<Action, Error> {
    if !context.is_ours(&*object) {
        return Ok(Action::await_change());
    }
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<AgentCluster>::namespaced(context.client.clone(), &namespace);
    let is_moved = finalizers::is_moved(&*object);
    if is_moved {
        orphan(&object, context).await?;
    }
    if object.metadata.deletion_timestamp.is_some() {
        // The ClusterDeployment is deleted with its owner.
        finalizers::remove(&api, &object, finalizer::AGENT_CLUSTER).await?;
        context.waits.set(&object.object_ref(&()), None);
        return Ok(Action::await_change());
    }
    if is_moved || is_managed_elsewhere(&*object) {
        context.waits.set(&object.object_ref(&()), None);
        return Ok(Action::await_change());
    }
    let cluster = match cluster_api_owner(&*object, "Cluster") {
        Some(owner) => {
            clusters
                .get(&context.client, &KubeRef::new(&namespace, &owner.name))
                .await?
        }
        None => None,
    };
    if is_paused(&*object) {
        orphan(&object, context).await?;
        return settle(&object, context, paused("the AgentCluster"), None).await;
    }
    let Some(cluster) = cluster.as_deref().map(Cluster) else {
        let object = adopted(&api, &object, finalizer::AGENT_CLUSTER)
            .await?
            .map_or(object, Arc::new);
        let found = Found {
            deployment: None,
            reason: Reason::WaitingForCluster,
            message:
                "Waits for the Cluster (cluster.x-k8s.io) that owns it to be there and in its ownerReferences"
                    .into(),
        };
        return settle(&object, context, found, None).await;
    };
    if cluster.is_paused() {
        // `clusterctl move` pauses Clusters, and deletes the AgentCluster later, too fast for its finalizer to count: the garbage collector must
        // not take the ClusterDeployment, and with it the hosts.
        orphan(&object, context).await?;
        return settle(&object, context, paused("its Cluster"), None).await;
    }
    let object = adopted(&api, &object, finalizer::AGENT_CLUSTER)
        .await?
        .map_or(object, Arc::new);
    let found = match converge(&object, cluster, context).await? {
        Ok(deployment) => {
            let is_named = has_endpoint(&object) || cluster.has_endpoint();
            let (reason, message) = match endpoint::in_use(&object, cluster, context, &clusters.kind).await? {
                Some(address) => (
                    Reason::EndpointInUse,
                    format!(
                        "Somebody answers at {address}, which is to be the address of the new cluster's API; end what is there, or name another spec.controlPlaneEndpoint"
                    ),
                ),
                None if is_named => (Reason::AgentClusterReady, "Machines can be made".to_owned()),
                None => (
                    Reason::WaitingForControlPlaneEndpoint,
                    "Waits for the address of the cluster's API: spec.controlPlaneEndpoint of the AgentCluster or of its Cluster".to_owned(),
                ),
            };
            Found {
                deployment: Some(ClusterReference {
                    name: deployment.name_any(),
                    namespace,
                }),
                reason,
                message,
            }
        }
        Err(found) => found,
    };
    let domains = clusters.domains(&object, cluster);
    settle(&object, context, found, domains).await
}

fn paused(what: &str) -> Found {
    Found {
        deployment: None,
        reason: Reason::Paused,
        message: format!("Nothing is done while {what} is paused"),
    }
}

async fn settle(
    object: &AgentCluster,
    context: &Context,
    found: Found,
    domains: Option<Vec<FailureDomain>>,
) -> Result<Action, Error> {
    let again = match found.reason {
        Reason::WaitingForControlPlane | Reason::ClusterDeploymentConflict => Some(CONTROL_PLANE_INTERVAL),
        Reason::EndpointInUse => Some(ENDPOINT_INTERVAL),
        Reason::AgentClusterReady
        | Reason::WaitingForCluster
        | Reason::WaitingForControlPlaneEndpoint
        | Reason::Paused => None,
    };
    let before = object.status.as_ref();
    let mut next = status::status(before, found, domains, object.metadata.generation, now());
    // Without the finalizer, the deletion goes unnoticed.
    let is_ours = finalizers::has(object, finalizer::AGENT_CLUSTER);
    let wait = status::wait(&next).filter(|_| is_ours);
    let wait = wait.map(|wait| (wait, "Ready"));
    let overdue = context
        .waits
        .tell(&object.object_ref(&()), wait, &mut next.conditions);
    health::show(&mut next.conditions, &status::SIGNS, now());
    write(context, object, before, &next).await?;
    Ok(soonest([again, overdue]))
}

fn has_endpoint(object: &AgentCluster) -> bool {
    let endpoint = object.spec.control_plane_endpoint.as_ref();
    endpoint.is_some_and(|it| {
        it.host.as_deref().is_some_and(|host| !host.is_empty()) && it.port.unwrap_or_default() > 0
    })
}

/// Returns the ClusterDeployment, created if it does not exist; or the reason of a wait.
async fn converge(
    object: &AgentCluster,
    cluster: Cluster<'_>,
    context: &Context,
) -> Result<Result<ClusterDeployment, Found>, Error> {
    let deployment = match deployment(object, context).await? {
        Ok(Some(found)) => adopt_deployment(object, found, context).await?,
        Ok(None) => match make_deployment(object, cluster, context).await? {
            Ok(made) => made,
            Err(why) => return Ok(Err(why)),
        },
        Err(conflict) => return Ok(Err(conflict)),
    };
    let namespace = object.namespace().unwrap_or_default();
    let installs = Api::<AgentClusterInstall>::namespaced(context.client.clone(), &namespace);
    let wanted = desired::install(object, &deployment);
    match installs.get_opt(&wanted.name_any()).await? {
        None => {
            installs.create(&post_params(), &wanted).await?;
        }
        // The endpoint was not known at the creation. A present endpoint may be a user's correction.
        Some(found) if found.spec.ignition_endpoint.is_none() => {
            if let Some(endpoint) = &wanted.spec.ignition_endpoint {
                let patch = Patch::Merge(json!({"spec": {"ignitionEndpoint": endpoint}}));
                unless_absent(installs.patch(&wanted.name_any(), &patch_params(), &patch).await)?;
            }
        }
        Some(_) => {}
    }
    Ok(Ok(deployment))
}

fn deployments(object: &AgentCluster, context: &Context) -> Api<ClusterDeployment> {
    Api::namespaced(context.client.clone(), &object.namespace().unwrap_or_default())
}

/// Returns the ClusterDeployment that was made for the AgentCluster, perhaps before it was restored from a backup.
async fn deployment(
    object: &AgentCluster,
    context: &Context,
) -> Result<Result<Option<ClusterDeployment>, Found>, Error> {
    let (api, name) = (deployments(object, context), object.name_any());
    let known = object
        .status
        .as_ref()
        .map(|status| &status.cluster_deployment_reference.name);
    let known = known.filter(|known| !known.is_empty()).unwrap_or(&name);
    if let Some(found) = api.get_opt(known).await? {
        let label = found.labels().get(label::AGENT_CLUSTER_REF);
        if label == Some(&name) || with_owner(&found, object, |_| false).is_none() {
            return Ok(Ok(Some(found)));
        }
        return Ok(Err(Found {
            deployment: None,
            reason: Reason::ClusterDeploymentConflict,
            message: format!(
                "There is a ClusterDeployment {known} that is not this AgentCluster's; delete or rename one of them, or label it {}={name} if it is",
                label::AGENT_CLUSTER_REF
            ),
        }));
    }
    let label = format!("{}={name}", label::AGENT_CLUSTER_REF);
    let listed = api.list(&ListParams::default().labels(&label)).await?;
    Ok(Ok(listed.items.into_iter().next()))
}

/// Sets the ClusterDeployment's owner and label, in one write.
async fn adopt_deployment(
    object: &AgentCluster,
    found: ClusterDeployment,
    context: &Context,
) -> Result<ClusterDeployment, Error> {
    let mut metadata = json!({});
    let kind = AgentCluster::kind(&());
    if let Some(owners) = with_owner(&found, object, |one| {
        one.kind == kind && one.name == object.name_any()
    }) {
        metadata["ownerReferences"] = json!(owners);
    }
    if found.labels().get(label::AGENT_CLUSTER_REF) != Some(&object.name_any()) {
        metadata["labels"] = json!({label::AGENT_CLUSTER_REF: object.name_any()});
    }
    if metadata == json!({}) {
        return Ok(found);
    }
    let patch: Patch<Value> = finalizers::metadata_patch(&found, metadata);
    let api = deployments(object, context);
    Ok(api.patch(&found.name_any(), &patch_params(), &patch).await?)
}

async fn make_deployment(
    object: &AgentCluster,
    cluster: Cluster<'_>,
    context: &Context,
) -> Result<Result<ClusterDeployment, Found>, Error> {
    let namespace = object.namespace().unwrap_or_default();
    let control_plane = match control_plane(&context.client, &namespace, cluster).await? {
        Ok(control_plane) => control_plane,
        Err(message) => {
            return Ok(Err(Found {
                deployment: None,
                reason: Reason::WaitingForControlPlane,
                message,
            }));
        }
    };
    let wanted = desired::deployment(object, &control_plane);
    let made = deployments(object, context)
        .create(&post_params(), &wanted)
        .await?;
    tracing::info!(cluster = %kube_ref(object), "the ClusterDeployment of an AgentCluster was made");
    label_secrets(&context.client, &namespace, &control_plane).await;
    Ok(Ok(made))
}

/// Labels the Secrets that the ClusterDeployment names, so that a backup includes them.
async fn label_secrets(client: &Client, namespace: &str, control_plane: &ControlPlane) {
    let api = Api::<Secret>::namespaced(client.clone(), namespace);
    let patch: Patch<Value> = Patch::Merge(json!({"metadata": {"labels": {label::BACKUP: "true"}}}));
    let others = [&control_plane.pull_secret, &control_plane.password];
    let names = others.into_iter().flatten().chain([&control_plane.kubeconfig]);
    for name in names {
        let done = unless_absent(api.patch_metadata(name, &patch_params(), &patch).await);
        if let Err(error) = done {
            tracing::warn!(%error, namespace, name, "a Secret could not be labelled for backups");
        }
    }
}

/// Removes the AgentCluster from its ClusterDeployment's owners: it is deleted here and continues to exist elsewhere.
async fn orphan(object: &AgentCluster, context: &Context) -> Result<(), Error> {
    let Ok(Some(found)) = deployment(object, context).await? else {
        return Ok(());
    };
    let uid = object.uid().unwrap_or_default();
    let owners: Vec<_> = found
        .owner_references()
        .iter()
        .filter(|one| one.uid != uid)
        .collect();
    if owners.len() == found.owner_references().len() {
        return Ok(());
    }
    let patch: Patch<Value> = finalizers::metadata_patch(&found, json!({"ownerReferences": owners}));
    let api = deployments(object, context);
    unless_absent(
        api.patch_metadata(&found.name_any(), &patch_params(), &patch)
            .await,
    )
    .map(drop)
}
