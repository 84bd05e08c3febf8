//! Watches AgentQuotas, the shares of consumers in a pool of Agents, and reports their use. Source of the rules: docs/quotas.md.
//!
//! Other programs that install the provider's kinds do not have this one, and HyperShift's Roles do not name it: then no quota is applied. They are
//! of the namespaces with Agents.

mod counts;
mod reconcile;
mod status;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use kube::api::ListParams;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{Controller, WatchStreamExt};
use kube::{Api, Resource, ResourceExt};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::error::{is_forbidden, words};
use muster_controller::namespaces::Namespaces;
use muster_controller::{kinds, rights, watch};
use muster_resources::AgentQuota;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::provider::Provider;
use counts::Counts;

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
    let counts = Arc::new(Counts::default());
    let news = news(provider.clone(), counts.clone(), store.clone());
    let config = watcher::Config::default();
    let events = watch::watch_in(context.of_agents(), &namespaces, config, store.clone())
        .map(Ok)
        .reflect(writer)
        .filter(watch::news::<AgentQuota>(&context))
        .inspect(news);
    let controller = Controller::for_stream(events.applied_objects(), store.clone())
        .reconcile_on(stream::poll_fn(move |context| requested.poll_recv(context)))
        .reconcile_on(context.turns.changes(store.clone()));
    let counted = count(provider.clone(), counts.clone(), store, requests);
    let work = drive(
        "agent_quota",
        CONCURRENCY,
        controller,
        context,
        CancellationToken::new(),
        move |object, _| {
            let (provider, counts) = (provider.clone(), counts.clone());
            async move { reconcile::reconcile(object, provider, counts).await }
        },
    );
    tokio::select! {
        () = work => {}
        () = counted => {}
    }
}

/// Passes on what a watch shows of quotas. Only a change of a spec changes the order of AgentMachines.
fn news(
    provider: Arc<Provider>,
    counts: Arc<Counts>,
    all: Store<AgentQuota>,
) -> impl FnMut(&watcher::Result<Event<AgentQuota>>) {
    let mut generations: HashMap<Option<String>, Option<i64>> = HashMap::new();
    let key = |quota: &AgentQuota| quota.uid();
    move |event| match event {
        Ok(Event::Init) => generations.clear(),
        Ok(Event::InitApply(quota)) => {
            generations.insert(key(quota), quota.metadata.generation);
        }
        Ok(Event::InitDone) => {
            counts.renew();
            provider.quotas.apply(all.clone());
        }
        Ok(Event::Apply(quota)) => {
            counts.renew();
            let generation = quota.metadata.generation;
            if generations.insert(key(quota), generation) != Some(generation) {
                provider.quotas.reorder();
            }
        }
        Ok(Event::Delete(quota)) => {
            generations.remove(&key(quota));
            counts.renew();
            reconcile::forget(quota);
            provider.quotas.reorder();
        }
        Err(_) => {}
    }
}

/// Requests all quotas after something has changed that they count.
async fn count(
    provider: Arc<Provider>,
    counts: Arc<Counts>,
    store: Store<AgentQuota>,
    requests: UnboundedSender<ObjectRef<AgentQuota>>,
) {
    loop {
        provider.quotas.recounted().await;
        counts.renew();
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
    const ADVICE: &str = "rights to list and watch agentquotas.muster.dev are missing there (deploy/capi/rbac.yaml; for muster manager docs/quotas.md)";
    let (watches, kind) = (&provider.context.watches, AgentQuota::plural(&()));
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
                watches.works(&kind);
                provider.quotas.without();
                ABSENT_INTERVAL
            }
            Ok(Found::Absent) => {
                watches.works(&kind);
                provider.quotas.without();
                ABSENT_INTERVAL
            }
            Err(error) => {
                // The first time, no AgentMachine is reconciled before it is known.
                watches.fails(&kind, words(&error), Instant::now());
                RETRY_INTERVAL
            }
        };
        sleep(wait).await;
    }
}

async fn find(provider: &Provider) -> kube::Result<Found> {
    let context = provider.context.of_agents();
    let client = &context.client;
    // A program with the rights of another one should not be seen to fail.
    let is_guest = provider.context.only_pool().is_some();
    if is_guest {
        let (version, plural) = (AgentQuota::api_version(&()), AgentQuota::plural(&()));
        if !kinds::is_served(client, &version, &plural).await? {
            return Ok(Found::Absent);
        }
    }
    let chosen = context.namespaces.names();
    if chosen.is_empty() {
        let all = Api::all(client.clone());
        return Ok(match may_list(&all).await? {
            Some(true) => Found::Readable(context.namespaces.clone(), Vec::new()),
            Some(false) => Found::Forbidden,
            None => Found::Absent,
        });
    }
    let (mut readable, mut forbidden) = (Vec::new(), Vec::new());
    for name in chosen {
        let may = match is_guest {
            true => Some(rights::may_watch::<AgentQuota>(client, name).await?),
            false => may_list(&Api::namespaced(client.clone(), name)).await?,
        };
        match may {
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
