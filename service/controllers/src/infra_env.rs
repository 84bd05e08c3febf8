//! Reconciles InfraEnv resources: groups of hosts, and the image that they boot. Source:
//! docs/protocol/kube-controllers.md#1 and §2.
//!
//! The resource is the truth: REST refuses changes of its fields (docs/two-doors.md), and the next reconcile reverts those that were
//! made nevertheless. Removing a field of the spec unsets it. A resource that mirrors a record made by REST ([`mirrored`]) is one of two
//! writers.

pub mod adopt;
pub mod delete;
pub mod desired;
pub mod links;
pub mod mirrored;
pub mod reconcile;
pub mod shown;
pub mod static_network;
pub mod status;
#[cfg(test)]
mod tests;
pub mod writing;

use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::{cluster_ref, kube_ref, object_ref};
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::{ClusterDeployment, InfraEnv, NMStateConfig};
use tokio_util::sync::CancellationToken;

use super::context::Context;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let controller = watch::controller_without_own_writes::<InfraEnv>(&context);
    let store = controller.store();
    let changed = changed(&context, store.clone());
    let users = |uses: fn(&InfraEnv, &KubeRef) -> bool| {
        let store = store.clone();
        move |used: KubeRef| {
            let users = store.state_filter(|infra_env| uses(infra_env, &used));
            users
                .into_iter()
                .map(|infra_env| ObjectRef::from_obj(&*infra_env))
        }
    };
    let of_network = users(|infra_env, network| {
        infra_env.namespace().as_deref() == Some(&network.namespace)
            && infra_env.spec.nm_state_config_label_selector.is_some()
    });
    let of_cluster = users(|infra_env, cluster| cluster_ref(infra_env).as_ref() == Some(cluster));
    let of_secret = users(|infra_env, secret| {
        infra_env.namespace().as_deref() == Some(&secret.namespace)
            && infra_env.spec.pull_secret_ref.name == secret.name
    });
    let of_map = users(|infra_env, map| {
        let reference = infra_env.spec.mirror_registry_ref.as_ref();
        reference.is_some_and(|it| it.namespace == map.namespace && it.name == map.name)
    });
    let all = watcher::Config::default;
    let controller = controller
        .watches_stream(
            watch::metadata::<NMStateConfig>(&context, all()),
            move |network| of_network(kube_ref(&network)),
        )
        .watches_stream(
            watch::metadata::<ClusterDeployment>(&context, all()),
            move |cluster| of_cluster(kube_ref(&cluster)),
        )
        .watches_stream(
            watch::metadata::<Secret>(&context, secrets::watched()),
            move |secret| of_secret(kube_ref(&secret)),
        )
        .watches_stream(
            watch::metadata::<ConfigMap>(&context, secrets::watched()),
            move |map| of_map(kube_ref(&map)),
        )
        .reconcile_on(changed)
        .reconcile_on(context.refused_agents.changes().map(|kube| object_ref(&kube)));
    let name = "infra_env";
    drive(name, CONCURRENCY, controller, context, stop, reconcile::reconcile).await;
}

/// InfraEnvs with changed or deleted records, and InfraEnvs that are being deleted and have a host that changed.
fn changed(
    context: &Context,
    store: Store<InfraEnv>,
) -> impl Stream<Item = ObjectRef<InfraEnv>> + Send + use<> {
    let operations = context.operations.clone();
    let infra_envs = context.changes.subscribe_infra_envs().filter_map(move |id| {
        let operations = operations.clone();
        async move {
            let kube = match operations.infra_envs.refresh(id).await.ok()? {
                Some(found) => found.kube.clone(),
                // The resource may still exist.
                None => operations.infra_envs.resource_of_deleted(id).await.ok()?,
            };
            kube.as_ref().map(object_ref)
        }
    });
    let operations = context.operations.clone();
    let hosts = context.changes.subscribe_hosts().filter_map(move |(id, _)| {
        let (operations, store) = (operations.clone(), store.clone());
        async move {
            let found = operations.infra_envs.find(id).await.ok().flatten()?;
            let resource = object_ref(found.kube.as_ref()?);
            let deleting = |infra_env: Arc<InfraEnv>| infra_env.metadata.deletion_timestamp.is_some();
            store.get(&resource).is_some_and(deleting).then_some(resource)
        }
    });
    futures_util::stream::select(infra_envs, hosts)
}
