//! Reconciles BMC resources: machines that are discovered by booting them through their management controllers (docs/bmc.md).
//!
//! The resource is the truth about the settings. A discovery is requested by a change of `spec.discover` or of an annotation, which is
//! stored in the record, so that no discovery is requested twice. The record's phases are written to the status when they change.

pub mod conditions;
pub mod delete;
pub mod reconcile;
pub mod status;
#[cfg(test)]
mod tests;
pub mod wanted;

use std::collections::BTreeSet;
use std::future;
use std::sync::Arc;

use futures_util::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ListParams;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::kinds::served;
use muster_controller::references::{kube_ref, object_ref};
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::{Bmc, InfraEnv};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::error::Error;

/// Runs the controller until `stop`, once the API server has the kind.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let begin = async {
        let (group_version, plural) = (Bmc::api_version(&()), Bmc::plural(&()));
        served(&context.client, &group_version, &[plural.as_ref()]).await;
        release_left_over(&context).await;
    };
    tokio::select! {
        () = begin => {}
        () = stop.cancelled() => return,
    }
    let controller = watch::controller_without_own_writes::<Bmc>(&context);
    let store = controller.store();
    let changed = changed(&context, store.clone());
    let of_secret = watch::users(&store, |bmc: &Bmc, secret: &KubeRef| {
        is_beside(bmc, secret) && bmc.spec.credentials_name == secret.name
    });
    let of_map = watch::users(&store, |bmc: &Bmc, map: &KubeRef| {
        let reference = bmc
            .spec
            .trust
            .as_ref()
            .and_then(|trust| trust.bundle_ref.as_ref());
        is_beside(bmc, map) && reference.is_some_and(|it| it.name == map.name)
    });
    let controller = controller
        .watches_stream(
            watch::metadata::<Secret>(&context, secrets::watched()),
            move |secret| of_secret(kube_ref(&secret)),
        )
        .watches_stream(
            watch::metadata::<ConfigMap>(&context, secrets::watched()),
            move |map| of_map(kube_ref(&map)),
        )
        .reconcile_on(changed);
    drive(
        "bmc",
        CONCURRENCY,
        controller,
        context,
        stop,
        reconcile::reconcile,
    )
    .await;
}

fn is_beside(bmc: &Bmc, other: &KubeRef) -> bool {
    bmc.namespace().as_deref() == Some(&other.namespace)
}

fn is_in(bmc: &Bmc, infra_env: &KubeRef) -> bool {
    is_beside(bmc, infra_env) && bmc.spec.infra_env_ref.name == infra_env.name
}

/// BMCs with changed records, those of an InfraEnv that is gone, and those that wait for an InfraEnv.
fn changed(context: &Context, store: Store<Bmc>) -> impl Stream<Item = ObjectRef<Bmc>> + Send + use<> {
    let operations = context.operations.clone();
    let records = context.changes.subscribe_bmcs().filter_map(move |id| {
        let operations = operations.clone();
        async move {
            let found = operations.bmcs.resource_of(id).await.ok().flatten();
            found.as_ref().map(object_ref)
        }
    });
    let operations = context.operations.clone();
    let waiting = watch::users(&store, |bmc: &Bmc, infra_env: &KubeRef| {
        let is_made = bmc.status.as_ref().is_some_and(|status| status.bmc_id.is_some());
        is_in(bmc, infra_env) && !is_made
    });
    let made = context.changes.subscribe_infra_envs().filter_map(move |id| {
        let operations = operations.clone();
        async move {
            operations
                .infra_envs
                .refresh(id)
                .await
                .ok()
                .flatten()?
                .kube
                .clone()
        }
    });
    let made = made.flat_map(move |infra_env| stream::iter(waiting(infra_env)));
    let users = watch::users(&store, is_in);
    let gone = watch::metadata_events::<InfraEnv>(context, watcher::Config::default());
    let gone = gone.filter_map(|event| {
        future::ready(match event {
            Event::Delete(infra_env) => Some(kube_ref(&infra_env)),
            Event::Apply(_) | Event::Init | Event::InitApply(_) | Event::InitDone => None,
        })
    });
    let gone = gone.flat_map(move |infra_env| stream::iter(users(infra_env)));
    stream::select(records, stream::select(made, gone))
}

/// Releases records to REST if their objects were deleted unnoticed, before anything is reconciled.
async fn release_left_over(context: &Context) {
    loop {
        match try_to_release(context).await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(%error, "BMCs whose custom resources are gone cannot be looked for; trying again");
                sleep(RETRY_INTERVAL).await;
            }
        }
    }
}

async fn try_to_release(context: &Context) -> Result<(), Error> {
    let mut there: BTreeSet<KubeRef> = BTreeSet::new();
    for objects in context.namespaces.apis::<Bmc>(&context.client) {
        let listed = objects.list_metadata(&ListParams::default()).await?;
        there.extend(listed.iter().map(kube_ref));
    }
    // Objects in namespaces that are not watched may still exist.
    let is_there = |kube: &KubeRef| there.contains(kube) || !context.namespaces.contains(&kube.namespace);
    Ok(context.operations.bmcs.release_left_over(is_there).await?)
}
