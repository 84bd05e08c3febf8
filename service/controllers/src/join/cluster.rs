//! Watches one workload cluster while hosts are joining it: connects, watches its Nodes and certificate requests, and has the
//! hosts assessed whenever something changed.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use muster_api::ids::ClusterId;
use muster_controller::watch::Watched;
use muster_operations::chain;
use muster_resources::ClusterDeployment;
use muster_workload::{Unreachable, Workload};
use tokio::time::{Instant, sleep, sleep_until};

use super::members::Members;
use super::own_names::OwnNames;
use super::queue::Queue;
use super::view::View;
use super::words;
use crate::context::Context;
use crate::error::{Error, unless_absent, words as error_words};

/// Wait before another attempt with a cluster without a usable kubeconfig, doubled each time.
const FIRST_RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Between two checks whether the kubeconfig has changed, and whether the cluster responds.
const KUBECONFIG_INTERVAL: Duration = Duration::from_secs(30);

/// Between two requests to a cluster with failing watches. Its circuit admits fewer.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Length of one watch, seconds; then the next one begins.
const WATCH_SECONDS: u32 = 120;

/// Changes within this time are assessed together.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// Runs until it is aborted, which it is when no host is joining any more.
pub async fn run(context: Arc<Context>, cluster: ClusterId, queue: Arc<Queue>) {
    let _requests = Requests {
        context: context.clone(),
        cluster,
    };
    let mut members = Members::new(context.clone(), queue.clone());
    let mut retry = FIRST_RETRY;
    loop {
        match connect(&context, cluster).await {
            Ok(place) => {
                retry = FIRST_RETRY;
                follow(&context, &queue, &place, &mut members).await;
            }
            Err((name, why)) => {
                members.refresh().await;
                members.tell_all(&words::unreachable(&name, &why)).await;
                tokio::select! {
                    () = sleep(retry) => retry = (retry * 2).min(LONGEST_RETRY),
                    () = queue.changed.notified() => {}
                }
            }
        }
    }
}

/// The requests of the cluster that are shown as pending: for as long as it is watched.
struct Requests {
    context: Arc<Context>,
    cluster: ClusterId,
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.context.operations.bridge.requests().forget(self.cluster);
    }
}

/// A cluster that can be reached.
pub struct Place {
    pub id: ClusterId,
    pub deployment: ClusterDeployment,
    /// Namespace and name of the ClusterDeployment.
    pub name: String,
    pub workload: Arc<Workload>,
    /// Names and addresses of the cluster itself.
    pub own: OwnNames,
}

/// # Errors
/// Returns the cluster's name, and why there is no client for it.
async fn connect(context: &Context, cluster: ClusterId) -> Result<Place, (String, String)> {
    let unnamed = |error: Error| (cluster.to_string(), error.to_string());
    let stored = context.operations.clusters.find(cluster, false).await;
    let stored = stored.map_err(|error| unnamed(error.into()))?;
    let cluster_data = stored.cluster.data;
    let Some(kube) = stored.cluster.kube else {
        let why = "it has no ClusterDeployment, which would name its kubeconfig; approve the node's certificates by hand";
        return Err((cluster.to_string(), why.into()));
    };
    let name = kube.to_string();
    let api = Api::<ClusterDeployment>::namespaced(context.client.clone(), &kube.namespace);
    let found = unless_absent(api.get(&kube.name).await);
    let Some(deployment) = found.map_err(|error| (name.clone(), error.to_string()))? else {
        return Err((name, "its ClusterDeployment is gone".into()));
    };
    match context.workloads.of_deployment(&deployment).await {
        Ok(workload) => {
            let mut own = OwnNames::of(&cluster_data, &workload.server);
            own.look_up(&workload.client).await;
            Ok(Place {
                id: cluster,
                deployment,
                name,
                workload,
                own,
            })
        }
        Err(error) => Err((name, error.to_string())),
    }
}

/// Watches the cluster until its kubeconfig has changed.
async fn follow(context: &Context, queue: &Queue, place: &Place, members: &mut Members) {
    let client = &place.workload.client;
    let mut nodes = pin!(watched::<Node>(client));
    let mut requests = pin!(watched::<CertificateSigningRequest>(client));
    let mut view = View::of(place.own.clone());
    let mut trouble = None;
    let mut compare_at = Instant::now() + KUBECONFIG_INTERVAL;
    let mut look_at = Some(Instant::now());
    loop {
        let changed = tokio::select! {
            Some(event) = nodes.next() => noted(event, &mut trouble, |event| view.note_node(event)),
            Some(event) = requests.next() => noted(event, &mut trouble, |event| view.note_csr(event)),
            () = queue.changed.notified() => true,
            () = sleep_until(compare_at) => {
                if is_other(context, place).await {
                    return;
                }
                // A watch of a cluster that hangs reports nothing.
                let answer = client.apiserver_version().await;
                compare_at = Instant::now() + KUBECONFIG_INTERVAL;
                answer.is_err_and(|error| trouble.replace(chain(&error)).is_none())
            }
            () = at(look_at) => {
                look_at = match silence(place, &view, &mut trouble).await {
                    None => members.look(place, &view).await,
                    Some(why) => {
                        members.refresh().await;
                        members.tell_all(&words::unreachable(&place.name, &why)).await;
                        Some(Instant::now() + PROBE_INTERVAL)
                    }
                };
                false
            }
        };
        if changed {
            let soon = Instant::now() + DEBOUNCE;
            look_at = Some(look_at.map_or(soon, |sooner| sooner.min(soon)));
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn watched<K: Watched>(client: &Client) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K> {
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    watcher(Api::<K>::all(client.clone()), config).default_backoff()
}

/// True when something relevant changed.
fn noted<K>(
    event: watcher::Result<Event<K>>,
    trouble: &mut Option<String>,
    note: impl FnOnce(Event<K>) -> bool,
) -> bool {
    match event {
        Ok(event) => note(event),
        Err(error) => {
            metrics::counter!("muster_workload_watch_errors_total").increment(1);
            tracing::debug!(
                error = chain(&error),
                "a watch of a workload cluster was interrupted; it goes on by itself"
            );
            let is_new = trouble.is_none();
            *trouble = Some(chain(&error));
            is_new
        }
    }
}

/// The reason why the cluster cannot be reached now, after a watch failed; `None`: what is known of it is current. A running watch
/// reports nothing until something changes, so a request is sent.
async fn silence(place: &Place, view: &View, trouble: &mut Option<String>) -> Option<String> {
    let why = trouble.clone()?;
    if let Err(error) = place.workload.client.apiserver_version().await {
        return Some(place.workload.silence().unwrap_or_else(|| error_words(&error)));
    }
    if !view.is_complete() {
        return Some(why);
    }
    *trouble = None;
    None
}

async fn is_other(context: &Context, place: &Place) -> bool {
    match context.workloads.of_deployment(&place.deployment).await {
        Ok(workload) => !Arc::ptr_eq(&workload, &place.workload),
        // The next connection reports an error in the kubeconfig; a management cluster that does not respond proves nothing.
        Err(error) => !matches!(error, Unreachable::Hub(..)),
    }
}
