//! Reconciles one ClusterDeployment: brings the database in line, writes the status of its
//! AgentClusterInstall.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::Patch;
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_api::ids::ClusterId;
use muster_controller::conditions::Synced;
use muster_controller::error::Failure;
use muster_controller::events::warning;
use muster_controller::finalizers;
use muster_controller::references::{install_ref, kube_ref, mirror_of, newest, with_owner};
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::secrets;
use muster_controller::writes::{delete_params, patch_params};
use muster_core::record::{Cluster, Secret};
use muster_core::rules::input::Invalid;
use muster_operations::OperationError;
use muster_operations::now;
use muster_resources::{AgentClusterInstall, ClusterDeployment, ClusterImageSet, names};
use muster_workload::Unreachable;
use serde_json::{Value, json};

use super::desired::{Wanted, changed, imported, is_installed, resource_field, version_of};
use super::untaken::missing_install;
use super::{delete, mirrored, same_api};
use crate::agent_cluster_install::{self, write_status};
use crate::context::Context;
use crate::error::{Error, Refusal, unless_absent};

/// Brings record and status in line with the resources.
pub async fn reconcile(deployment: Arc<ClusterDeployment>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = deployment.namespace().unwrap_or_default();
    let install = match install_ref(&deployment) {
        Some(name) if !name.is_empty() => {
            Api::<AgentClusterInstall>::namespaced(context.client.clone(), &namespace)
                .get_opt(name)
                .await?
        }
        _ => None,
    };
    if finalizers::is_moved(&*deployment) || install.as_ref().is_some_and(finalizers::is_moved) {
        return delete::moved(&deployment, install.as_ref(), &context).await;
    }
    if deployment.metadata.deletion_timestamp.is_some() {
        return delete::deployment(&deployment, install.as_ref(), &context).await;
    }
    if mirrored::is_left_over(&deployment, &context).await? {
        let api = Api::<ClusterDeployment>::namespaced(context.client.clone(), &namespace);
        unless_absent(
            api.delete(&deployment.name_any(), &delete_params(&*deployment))
                .await,
        )?;
        return Ok(Action::await_change());
    }
    let Some(install) = install else {
        return Ok(without_install(&deployment, &context));
    };
    if install.metadata.deletion_timestamp.is_some() {
        return delete::install(Some(&deployment), &install, &context).await;
    }
    let install = adopted(install, &deployment, &context).await?;
    let api = Api::<ClusterDeployment>::namespaced(context.client.clone(), &namespace);
    let deployment = match finalizers::set(&api, &deployment, names::finalizer::CLUSTER_DEPLOYMENT).await? {
        Some(newer) => Arc::new(newer),
        None => deployment,
    };
    let stored = context
        .operations
        .clusters
        .find_by_kube(&kube_ref(&*deployment))
        .await?;
    if stored.is_none() && mirror_of::<ClusterId>(&*deployment).is_some() {
        // The record was deleted meanwhile. A mirror makes no record.
        return Ok(Action::requeue(Duration::ZERO));
    }
    let deployment = match &stored {
        // An older version would look like a change.
        Some(found) if found.mirror.is_some() => {
            let newest = api.get_opt(&deployment.name_any()).await?;
            newest.map_or(deployment, Arc::new)
        }
        Some(_) | None => deployment,
    };
    match converge(&deployment, &install, stored.clone(), &context).await {
        Ok((cluster, notice)) => {
            let again = notice.is_some().then_some(RETRY_INTERVAL);
            write_status(&install, &context, &Synced::Ok(notice), Some(&cluster)).await?;
            let signed = context.operations.auth.url_renewal();
            let next = again.into_iter().chain(signed).min();
            Ok(next.map_or_else(Action::await_change, Action::requeue))
        }
        Err(Refusal::Input { why, retry }) => {
            write_status(&install, &context, &Synced::Input(why), stored.as_ref()).await?;
            Ok(retry.map_or_else(Action::await_change, Action::requeue))
        }
        Err(Refusal::Later(error)) if error.is_conflict() => Err(error),
        Err(Refusal::Later(error)) => {
            let synced = Synced::Backend(error.to_string());
            write_status(&install, &context, &synced, stored.as_ref()).await?;
            Err(error)
        }
    }
}

/// Publishes an Event if the AgentClusterInstall is missing, which has the conditions. Both are often created together, the
/// ClusterDeployment first.
fn without_install(deployment: &ClusterDeployment, context: &Context) -> Action {
    let Some(install) = install_ref(deployment).filter(|name| !name.is_empty()) else {
        return Action::await_change();
    };
    let made = deployment
        .metadata
        .creation_timestamp
        .as_ref()
        .map(|time| time.0.as_second());
    let age = made.map_or(0, |made| now().timestamp().saturating_sub(made));
    if age < RETRY_INTERVAL.as_secs().cast_signed() {
        return Action::requeue(RETRY_INTERVAL);
    }
    let note = missing_install(deployment, install);
    let event = warning("Import", "MissingAgentClusterInstall", &note);
    context.events.publish(event, deployment.object_ref(&()));
    Action::await_change()
}

fn refused(invalid: Invalid) -> Refusal {
    Refusal::invalid(&invalid, resource_field)
}

/// Handles a failed operation on a record that was validated before: another writer was faster, or the database is unavailable.
fn later(error: OperationError) -> Refusal {
    Refusal::Later(Error::internal(error.to_string()))
}

/// Sets finalizer and owner of the AgentClusterInstall in one write, and returns the object.
async fn adopted(
    install: AgentClusterInstall,
    deployment: &ClusterDeployment,
    context: &Context,
) -> Result<AgentClusterInstall, Error> {
    let mut metadata = json!({});
    if let Some(list) = finalizers::with(&install, names::finalizer::AGENT_CLUSTER_INSTALL) {
        metadata["finalizers"] = json!(list);
    }
    // The AgentClusterInstall was deleted and another of the same name created.
    let is_replaced =
        |one: &OwnerReference| one.kind == ClusterDeployment::kind(&()) && one.name == deployment.name_any();
    if let Some(list) = with_owner(&install, deployment, is_replaced) {
        metadata["ownerReferences"] = json!(list);
    }
    if metadata == json!({}) {
        return Ok(install);
    }
    let patch: Patch<Value> = finalizers::metadata_patch(&install, metadata);
    let api = agent_cluster_install::api(context, &install);
    Ok(api.patch(&install.name_any(), &patch_params(), &patch).await?)
}

/// Stores the settings of the resources. Returns a notice for users, if there is one.
async fn converge(
    deployment: &ClusterDeployment,
    install: &AgentClusterInstall,
    stored: Option<Cluster>,
    context: &Context,
) -> Result<(Cluster, Option<String>), Refusal> {
    if stored.is_none() && !is_installed(deployment, install) {
        return Err(Refusal::Input {
            why: "This service does not install new clusters, it adds hosts to clusters that are installed. For one of those set spec.installed: true in the ClusterDeployment, and spec.clusterMetadata.adminKubeconfigSecretRef to a Secret with its kubeconfig (key kubeconfig)".into(),
            retry: None,
        });
    }
    let namespace = deployment.namespace().unwrap_or_default();
    let pull_secret = pull_secret(deployment, &namespace, context).await?;
    let ignition_ca = ignition_ca(install, context).await?;
    let version = version(install, context).await?;
    let wanted = Wanted {
        deployment,
        install,
        pull_secret: pull_secret.as_ref(),
        ignition_ca: ignition_ca.as_ref(),
        version: version.as_deref(),
    };
    let clusters = &context.operations.clusters;
    let cluster = match stored {
        None => make(&wanted, context).await?,
        Some(stored) if stored.mirror.is_some() => mirrored::converge(&stored, &wanted, context).await?,
        Some(stored) => {
            // Validated before others could change it; changes made in between are seen below.
            changed(&stored, &wanted, now()).map_err(refused)?;
            clusters
                .change(stored.id, |newest| Ok(changed(newest, &wanted, now())?))
                .await
                .map_err(later)?
        }
    };
    let notices = [
        kubeconfig_notice(deployment, context).await?,
        same_api::notice(&cluster, context).await?,
    ];
    let notices: Vec<String> = notices.into_iter().flatten().collect();
    let notice = (!notices.is_empty()).then(|| format!("SyncOK. {}", notices.join(". ")));
    Ok((cluster, notice))
}

/// Makes the record of a resource that has none. One that was deleted while the resource stayed comes back with its id, by which clients of
/// REST know it.
async fn make(wanted: &Wanted<'_>, context: &Context) -> Result<Cluster, Refusal> {
    let clusters = &context.operations.clusters;
    let (deployment, kube) = (wanted.deployment, kube_ref(wanted.deployment));
    let deleted = match clusters.find_deleted(&kube).await? {
        Some(deleted) if shows(wanted.install, &deleted) => {
            let api = Api::<ClusterDeployment>::namespaced(context.client.clone(), &kube.namespace);
            newest(&api, deployment).await?.map(|_| deleted)
        }
        Some(_) | None => None,
    };
    let id = deleted
        .as_ref()
        .map_or_else(ClusterId::random, |deleted| deleted.id);
    let mut made = imported(kube, wanted, id, now()).map_err(refused)?;
    let Some(deleted) = deleted else {
        return clusters.create(made).await.map_err(later);
    };
    (made.version, made.created_at) = (deleted.version, deleted.created_at);
    clusters.revive(made).await.map_err(later)
}

/// True when the resource shows the events of this record: it is the one that was made for it, and not for another of the same name before.
fn shows(install: &AgentClusterInstall, record: &Cluster) -> bool {
    let info = install
        .status
        .as_ref()
        .and_then(|status| status.debug_info.as_ref());
    let events = info.and_then(|info| info.events_url.as_deref());
    events.is_some_and(|url| url.contains(&record.id.to_string()))
}

async fn pull_secret(
    deployment: &ClusterDeployment,
    namespace: &str,
    context: &Context,
) -> Result<Option<Secret>, Refusal> {
    let reference = deployment.spec.pull_secret_ref.as_ref();
    let Some(name) = reference
        .map(|it| it.name.as_str())
        .filter(|name| !name.is_empty())
    else {
        return Ok(None);
    };
    secrets::read_secret(&context.client, namespace, name, names::key::PULL_SECRET)
        .await
        .map(Some)
        .map_err(|error| Refusal::of_reference("spec.pullSecretRef of the ClusterDeployment", error))
}

async fn ignition_ca(install: &AgentClusterInstall, context: &Context) -> Result<Option<Secret>, Refusal> {
    let endpoint = install.spec.ignition_endpoint.as_ref();
    let Some(it) = endpoint.and_then(|endpoint| endpoint.ca_certificate_reference.as_ref()) else {
        return Ok(None);
    };
    let (namespace, name) = (&it.namespace, &it.name);
    let found = match secrets::check_namespace(&context.namespaces, "Secret", namespace, name) {
        Ok(()) => secrets::read_secret(&context.client, namespace, name, names::key::TLS_CERTIFICATE).await,
        Err(outside) => Err(outside),
    };
    found
        .map(Some)
        .map_err(|error| Refusal::of_reference("spec.ignitionEndpoint.caCertificateReference", error))
}

/// The version of the release that `spec.imageSetRef` names.
async fn version(install: &AgentClusterInstall, context: &Context) -> Result<Option<String>, Refusal> {
    let Some(reference) = &install.spec.image_set_ref else {
        return Ok(None);
    };
    let name = &reference.name;
    let found = Api::<ClusterImageSet>::all(context.client.clone())
        .get_opt(name)
        .await?;
    let Some(set) = found else {
        return Err(Refusal::Input {
            why: format!(
                "spec.imageSetRef: there is no ClusterImageSet {name}; create it, or leave the reference out: a cluster that is installed needs none"
            ),
            retry: Some(RETRY_INTERVAL),
        });
    };
    Ok(version_of(&set.spec.release_image).map(str::to_owned))
}

/// Returns a notice when the cluster's kubeconfig is missing or cannot be used, which is needed once its nodes are managed.
async fn kubeconfig_notice(
    deployment: &ClusterDeployment,
    context: &Context,
) -> Result<Option<String>, Refusal> {
    match context.workloads.check(deployment).await {
        Ok(()) => Ok(None),
        Err(error @ Unreachable::Hub(..)) => Err(Refusal::Later(Error::internal(error.to_string()))),
        Err(error @ (Unreachable::Secret(_) | Unreachable::Kubeconfig(..))) => Ok(Some(format!(
            "There is no usable kubeconfig of the cluster, hosts can be bound to it but no node can be looked after: {error}"
        ))),
    }
}
