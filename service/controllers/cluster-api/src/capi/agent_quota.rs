//! Watches AgentQuotas, the shares of consumers in a pool of Agents, and reports their use. Source of the rules: docs/quotas.md.
//!
//! Other programs that install the provider's kinds do not have this one, and HyperShift's Roles do not name it: then no quota is applied.

mod reconcile;
mod status;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use kube::Api;
use kube::api::ListParams;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{Controller, WatchStreamExt};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::error::{is_forbidden, words};
use muster_controller::namespaces::Namespaces;
use muster_controller::watch;
use muster_resources::AgentQuota;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::provider::Provider;

/// Least time between two counts of all quotas: Agents change all the time.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Between two attempts to find out whether there are quotas, after an error.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The same, where the kind is missing or may not be read.
const ABSENT_INTERVAL: Duration = Duration::from_secs(30);

/// Follows the quotas for as long as it is polled.
pub async fn run(provider: Arc<Provider>) {
    let namespaces = readable(&provider).await;
    let (store, writer) = reflector::store();
    let (requests, mut requested) = unbounded_channel();
    let context = provider.context.clone();
    let (of, all) = (provider.clone(), store.clone());
    let config = watcher::Config::default();
    let events = watch::watch_in(&context, &namespaces, config, store.clone())
        .map(Ok)
        .reflect(writer)
        .filter(watch::news::<AgentQuota>(&context))
        .inspect(move |event| match event {
            Ok(Event::InitDone) => of.quotas.apply(all.clone()),
            Ok(Event::Apply(_)) => of.quotas.reorder(),
            Ok(Event::Delete(quota)) => {
                reconcile::forget(quota);
                of.quotas.reorder();
            }
            Ok(Event::Init | Event::InitApply(_)) | Err(_) => {}
        });
    let controller = Controller::for_stream(events.applied_objects(), store.clone())
        .reconcile_on(stream::poll_fn(move |context| requested.poll_recv(context)));
    let counted = count(provider.clone(), store, requests);
    let work = drive(
        "agent_quota",
        CONCURRENCY,
        controller,
        context,
        CancellationToken::new(),
        move |object, _| {
            let provider = provider.clone();
            async move { reconcile::reconcile(object, provider).await }
        },
    );
    tokio::select! {
        () = work => {}
        () = counted => {}
    }
}

/// Requests all quotas after something has changed that they count.
async fn count(
    provider: Arc<Provider>,
    store: Store<AgentQuota>,
    requests: UnboundedSender<ObjectRef<AgentQuota>>,
) {
    loop {
        provider.quotas.recounted().await;
        for quota in store.state() {
            // Sending fails only when the controller has ended.
            let _ = requests.send(ObjectRef::from_obj(&*quota));
        }
        sleep(COUNT_INTERVAL).await;
    }
}

/// The outcome of an attempt to read quotas.
enum Found {
    /// In these namespaces they can be read. With those in which they cannot.
    Readable(Namespaces, Vec<String>),
    /// In none: the service lacks the right.
    Forbidden,
    /// The API server does not have the kind.
    Absent,
}

/// Returns the namespaces in which quotas can be read, once there are any.
async fn readable(provider: &Provider) -> Namespaces {
    const ADVICE: &str =
        "rights to list and watch agentquotas.muster.dev are missing there (deploy/capi/rbac.yaml)";
    let mut is_reported = false;
    loop {
        let wait = match find(provider).await {
            Ok(Found::Readable(namespaces, forbidden)) => {
                if !forbidden.is_empty() {
                    tracing::warn!(namespaces = ?forbidden, "AgentQuotas of these namespaces are not applied: {ADVICE}");
                }
                return namespaces;
            }
            Ok(Found::Forbidden) => {
                if !is_reported {
                    tracing::warn!("no AgentQuota is applied: {ADVICE}");
                }
                is_reported = true;
                provider.quotas.without();
                ABSENT_INTERVAL
            }
            Ok(Found::Absent) => {
                provider.quotas.without();
                ABSENT_INTERVAL
            }
            Err(error) => {
                tracing::debug!(error = words(&error), "AgentQuotas are looked for again");
                RETRY_INTERVAL
            }
        };
        sleep(wait).await;
    }
}

async fn find(provider: &Provider) -> kube::Result<Found> {
    let context = &provider.context;
    let chosen = context.namespaces.names();
    if chosen.is_empty() {
        let all = Api::all(context.client.clone());
        return Ok(match may_list(&all).await? {
            Some(true) => Found::Readable(context.namespaces.clone(), Vec::new()),
            Some(false) => Found::Forbidden,
            None => Found::Absent,
        });
    }
    let (mut readable, mut forbidden) = (Vec::new(), Vec::new());
    for name in chosen {
        let api = Api::namespaced(context.client.clone(), name);
        match may_list(&api).await? {
            Some(true) => readable.push(name.clone()),
            Some(false) => forbidden.push(name.clone()),
            None => return Ok(Found::Absent),
        }
    }
    Ok(match readable.is_empty() {
        true => Found::Forbidden,
        false => Found::Readable(Namespaces::from(readable), forbidden),
    })
}

/// True if the service may list the quotas; `None`: the API server does not have the kind.
async fn may_list(api: &Api<AgentQuota>) -> kube::Result<Option<bool>> {
    match api.list_metadata(&ListParams::default().limit(1)).await {
        Ok(_) => Ok(Some(true)),
        Err(error) if is_forbidden(&error) => Ok(Some(false)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
