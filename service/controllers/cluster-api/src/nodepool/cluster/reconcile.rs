//! Reconciles one Cluster: reads the objects that it refers to, writes its status.

use std::sync::Arc;

use kube::api::{ListParams, Patch};
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::time::now;
use muster_controller::error::Error;
use muster_controller::retry::{RETRY_INTERVAL, soonest};
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::writes::patch_params;
use muster_controller::{finalizers, status as statuses};
use muster_resources::cluster_api::names::{CLUSTER_FINALIZER, CLUSTER_NAME, PAUSED};
use muster_resources::cluster_api::{ApiEndpoint, Cluster, ClusterStatus, Machine, WorkersStatus};
use serde_json::{Value, json};

use super::delete;
use super::status::{self, Facts, Reason};
use crate::context::Context;
use crate::nodepool::machine::node::kubeconfig;
use crate::nodepool::{objects, waits};

/// Advances a Cluster, or its deletion.
pub async fn reconcile(cluster: Arc<Cluster>, context: Arc<Context>) -> Result<Action, Error> {
    let before = cluster.status.as_ref();
    if cluster.spec.paused == Some(true) || cluster.annotations().contains_key(PAUSED) {
        write(&cluster, &context, status::paused(before, now())).await?;
        return Ok(Action::await_change());
    }
    if cluster.metadata.deletion_timestamp.is_some() {
        return delete::delete(&cluster, &context).await;
    }
    let api = Api::<Cluster>::namespaced(context.client.clone(), &namespace(&cluster));
    let cluster = match finalizers::set(&api, &cluster, CLUSTER_FINALIZER).await? {
        Some(newer) => Arc::new(newer),
        None => cluster,
    };
    let infrastructure = infrastructure(&cluster, &context).await?;
    if let Some(endpoint) = &infrastructure.endpoint
        && endpoint_of(&cluster).is_none()
    {
        let patch = json!({"metadata": {"resourceVersion": cluster.resource_version()}, "spec": {"controlPlaneEndpoint": endpoint}});
        api.patch(&cluster.name_any(), &patch_params(), &Patch::Merge(patch))
            .await?;
        return Ok(Action::await_change());
    }
    let facts = Facts {
        infrastructure: infrastructure.ready,
        control_plane: control_plane(&cluster, &context).await?,
        has_endpoint: endpoint_of(&cluster).is_some(),
        workers: workers(&machines(&cluster, &context).await?),
    };
    let before = cluster.status.as_ref();
    let next = status::status(before, &facts, cluster.metadata.generation, now());
    write(&cluster, &context, next).await?;
    // The referenced objects may be of a kind that is not watched here.
    let is_waiting = facts.infrastructure.is_err() || facts.control_plane.is_err();
    Ok(soonest([is_waiting.then_some(RETRY_INTERVAL)]))
}

/// Conditions that the Cluster waits for, in this order.
const AWAITED: [(&str, &str); 3] = [
    ("Deleting", "False"),
    ("InfrastructureReady", "True"),
    ("ControlPlaneInitialized", "True"),
];

/// Writes the status. It is reconciled often enough to show when its wait is overdue.
pub(super) async fn write(
    cluster: &Cluster,
    context: &Context,
    mut next: ClusterStatus,
) -> Result<(), Error> {
    waits::tell::<Reason>(context, cluster, &mut next.conditions, &AWAITED);
    statuses::write(context, cluster, cluster.status.as_ref(), &next).await
}

pub(super) fn namespace(cluster: &Cluster) -> String {
    cluster.namespace().unwrap_or_default()
}

fn endpoint_of(cluster: &Cluster) -> Option<&ApiEndpoint> {
    let endpoint = cluster.spec.control_plane_endpoint.as_ref()?;
    (!endpoint.host.is_empty() && endpoint.port != 0).then_some(endpoint)
}

struct Infrastructure {
    ready: Result<(), (Reason, String)>,
    endpoint: Option<ApiEndpoint>,
}

async fn infrastructure(cluster: &Cluster, context: &Context) -> Result<Infrastructure, Error> {
    let missing = |why: String| Infrastructure {
        ready: Err((Reason::DoesNotExist, why)),
        endpoint: None,
    };
    let Some(reference) = &cluster.spec.infrastructure_ref else {
        return Ok(missing("spec.infrastructureRef names no AgentCluster".into()));
    };
    let what = format!("{} {}", reference.kind, reference.name);
    let found = objects::referred(&context.client, &namespace(cluster), reference).await?;
    let Some(object) = found else {
        return Ok(missing(format!("there is no {what}")));
    };
    let api = objects::api_of(&context.client, &namespace(cluster), reference);
    objects::adopt(&api, &object, cluster, &cluster.name_any()).await?;
    let status = &object.data["status"];
    let is_ready = status["ready"] == true || status["initialization"]["provisioned"] == true;
    let endpoint = serde_json::from_value(object.data["spec"]["controlPlaneEndpoint"].clone());
    Ok(Infrastructure {
        ready: if is_ready {
            Ok(())
        } else {
            Err((Reason::NotReady, waiting(&what, &status["conditions"])))
        },
        endpoint: endpoint
            .ok()
            .filter(|endpoint: &ApiEndpoint| !endpoint.host.is_empty()),
    })
}

fn waiting(what: &str, conditions: &Value) -> String {
    let open = conditions.as_array().into_iter().flatten();
    let open = open.filter(|condition| condition["status"] != "True");
    let open: Vec<&str> = open
        .filter_map(|condition| condition["message"].as_str())
        .collect();
    match open.first() {
        Some(why) if !why.is_empty() => format!("the {what} is not ready: {why}"),
        _ => format!("the {what} is not ready yet"),
    }
}

/// Reads the control plane; `Err`: why it does not count as initialized.
async fn control_plane(cluster: &Cluster, context: &Context) -> Result<Result<(), String>, Error> {
    let namespace = namespace(cluster);
    let Some(reference) = &cluster.spec.control_plane_ref else {
        let secret = kubeconfig(&namespace, &cluster.name_any());
        let key = muster_resources::names::key::CAPI_VALUE;
        return match secrets::has_secret(&context.client, &secret.namespace, &secret.name, key).await {
            Ok(()) => Ok(Ok(())),
            Err(ReferenceError::Api { source, .. }) => Err((*source).into()),
            Err(error) => Ok(Err(format!(
                "{error}; create it with the cluster's kubeconfig, or name a control plane"
            ))),
        };
    };
    let what = format!("{} {}", reference.kind, reference.name);
    let Some(object) = objects::referred(&context.client, &namespace, reference).await? else {
        return Ok(Err(format!("there is no {what}")));
    };
    let api = objects::api_of(&context.client, &namespace, reference);
    objects::adopt(&api, &object, cluster, &cluster.name_any()).await?;
    let status = &object.data["status"];
    let is_ready =
        status["initialized"] == true || status["initialization"]["controlPlaneInitialized"] == true;
    Ok(is_ready
        .then_some(())
        .ok_or_else(|| format!("the {what} is not initialized yet")))
}

/// Returns the Machines of a Cluster.
pub(super) async fn machines(cluster: &Cluster, context: &Context) -> Result<Vec<Machine>, Error> {
    let api = Api::<Machine>::namespaced(context.client.clone(), &namespace(cluster));
    let params = ListParams::default().labels(&format!("{CLUSTER_NAME}={}", cluster.name_any()));
    Ok(api.list(&params).await?.items)
}

fn workers(machines: &[Machine]) -> WorkersStatus {
    let count = |type_: &str| {
        let is = |machine: &&Machine| {
            let mut conditions = machine.status.iter().flat_map(|status| &status.conditions);
            conditions.any(|condition| condition.type_ == type_ && condition.status == "True")
        };
        i64::try_from(machines.iter().filter(is).count()).ok()
    };
    let alive = machines
        .iter()
        .filter(|machine| machine.metadata.deletion_timestamp.is_none());
    WorkersStatus {
        desired_replicas: i64::try_from(alive.count()).ok(),
        replicas: i64::try_from(machines.len()).ok(),
        ready_replicas: count("Ready"),
        available_replicas: count("Available"),
        up_to_date_replicas: count("UpToDate"),
    }
}
