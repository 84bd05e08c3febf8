//! Runs the provider of Cluster API alone: one namespace with Machines, one with Agents, no database and no record. Where HyperShift starts
//! a provider for each of its control planes, it can be this one. Source: docs/protocol/capi-agent-provider.md#1, #8.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::ListParams;
use kube::{Api, Client, Resource};
use muster_cluster_api::capi::turns::{SERVICE, Turns};
use muster_cluster_api::{OnlyPool, Pool, UnknownImages, capi};
use muster_controller::context::with_deadline;
use muster_controller::error::words;
use muster_controller::events::{Events, publish, warning};
use muster_controller::kinds;
use muster_controller::lease::LeaseDurations;
use muster_controller::namespaces::Namespaces;
use muster_controller::watches::Watches;
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::now;
use muster_outgoing::Networks;
use muster_resources::AgentCluster;
use muster_resources::names::PROVIDER_LEASE;
use muster_workload::Workloads;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::lead::{Lead, alone};

/// Between two looks for kinds that the API server lacks, and at who holds the Lease.
const INTERVAL: Duration = Duration::from_secs(5);

/// Time for a former pod of the same Deployment to end.
const CHANGE: Duration = Duration::from_secs(60);

/// Between two Events about a provider that is waited for. The API server keeps Events for an hour.
const REPORT_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Time for the Events that are queued at the end.
const LAST_EVENTS_LIMIT: Duration = Duration::from_secs(1);

/// Limit of one request about AgentClusters.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// A provider.
pub struct Manager {
    /// A client of the API server.
    pub client: Client,
    /// The namespace of Clusters, Machines, AgentClusters and AgentMachines, and of the Lease.
    pub namespace: String,
    /// The namespace of the Agents.
    pub agent_namespace: String,
    /// The name of this replica in the Lease; `None`: there is no other replica, and no Lease is held.
    pub me: Option<String>,
    /// The networks of API servers of workload clusters.
    pub workload_networks: Networks,
    pub state: Arc<BridgeState>,
}

/// Runs until `stop`.
pub async fn run(manager: Manager, stop: CancellationToken) {
    let Manager {
        client,
        namespace,
        agent_namespace,
        me,
        workload_networks,
        state,
    } = manager;
    tokio::select! {
        () = kinds_known(&client, &state) => {}
        () = stop.cancelled() => return,
    }
    let work = |stop: CancellationToken| {
        let watches = Arc::new(WatchesOf(state.clone()));
        provide(
            client.clone(),
            (namespace.clone(), agent_namespace.clone()),
            workload_networks.clone(),
            watches,
            stop,
        )
    };
    match me {
        None => alone(&state, stop, work).await,
        Some(me) => {
            let durations = LeaseDurations::default();
            let lead = Lead::named(PROVIDER_LEASE, client.clone(), &namespace, me.clone(), durations);
            tokio::select! {
                () = lead.run(&state, stop, work) => {}
                () = report_other(&state, &client, &namespace, &me) => {}
            }
        }
    }
}

/// Runs the controllers until `stop`.
async fn provide(
    client: Client,
    (namespace, agent_namespace): (String, String),
    networks: Networks,
    watches: Arc<WatchesOf>,
    stop: CancellationToken,
) {
    let (events, queued) = Events::new();
    let of = |namespace: &str| {
        let namespaces = Namespaces::from(vec![namespace.to_owned()]);
        muster_controller::Context::new(&client, events.clone(), namespaces, watches.clone())
    };
    let runtime = Arc::new(of(&namespace));
    let pool = OnlyPool {
        runtime: muster_controller::Context {
            tells_unreadable: false,
            ..of(&agent_namespace)
        },
        namespace: agent_namespace,
    };
    let context = Arc::new(muster_cluster_api::Context {
        workloads: Arc::new(Workloads::new(runtime.client.clone(), networks)),
        images: Arc::new(UnknownImages),
        watch_filter: None,
        pool: Pool::Only(Box::new(pool)),
        turns: Turns::alone(),
        runtime: runtime.clone(),
    });
    let work = async {
        tokio::select! {
            () = capi::run(context, stop) => {}
            () = runtime.waits.publish(&runtime.events) => {}
        }
        sleep(LAST_EVENTS_LIMIT).await;
    };
    tokio::select! {
        () = work => {}
        () = publish(client.clone(), queued) => {}
    }
}

/// Records who leads, under the name that Kubernetes' own programs have.
pub fn record_lease(state: &BridgeState) {
    let leads = matches!(
        state.status(),
        BridgeStatus::Leading | BridgeStatus::LeadingBut(_)
    );
    metrics::gauge!("leader_election_master_status", "name" => PROVIDER_LEASE)
        .set(f64::from(u8::from(leads)));
}

/// Waits until the API server knows the provider's kinds.
async fn kinds_known(client: &Client, state: &BridgeState) {
    let client = with_deadline(client.clone());
    loop {
        let before = state.status();
        match kinds::lacking_for_provider(&client).await {
            Ok(None) => return,
            Ok(Some(what)) => state.set(BridgeStatus::LacksKinds(what)),
            Err(error) => state.unreachable(now(), words(&error)),
        }
        let status = state.status();
        if std::mem::discriminant(&before) != std::mem::discriminant(&status) {
            tracing::warn!("the provider waits: {status}");
        }
        sleep(INTERVAL).await;
    }
}

/// Reports another provider that holds the Lease, to the log and to AgentClusters, for as long as this is polled.
async fn report_other(state: &BridgeState, client: &Client, namespace: &str, me: &str) {
    let client = with_deadline(client.clone());
    let (events, queued) = Events::new();
    let watching = async {
        let mut waits: Option<(String, Instant)> = None;
        let mut reported: Option<(String, Instant)> = None;
        loop {
            sleep(INTERVAL).await;
            let BridgeStatus::Following(holder) = state.status() else {
                waits = None;
                reported = None;
                continue;
            };
            let since = match &waits {
                Some((known, since)) if *known == holder => *since,
                _ => Instant::now(),
            };
            waits = Some((holder.clone(), since));
            let is_service = holder.starts_with(SERVICE);
            let is_own = !is_service && (holder == me || since.elapsed() < CHANGE);
            let is_recent = reported
                .as_ref()
                .is_some_and(|(known, at)| *known == holder && at.elapsed() < REPORT_INTERVAL);
            if is_own || is_recent {
                continue;
            }
            let why = waited_for(namespace, &holder, is_service);
            tracing::warn!("{why}");
            let api = Api::<AgentCluster>::namespaced(client.clone(), namespace);
            let listed = timeout(REQUEST_LIMIT, api.list(&ListParams::default().limit(20))).await;
            // AgentClusters that cannot be listed now get the next report.
            for cluster in listed.into_iter().flatten().flatten() {
                events.publish(warning("Serve", "OtherProvider", &why), cluster.object_ref(&()));
            }
            reported = Some((holder, Instant::now()));
        }
    };
    tokio::select! {
        () = watching => {}
        () = publish(client.clone(), queued) => {}
    }
}

fn waited_for(namespace: &str, holder: &str, is_service: bool) -> String {
    let lease = format!("{holder} holds the Lease {namespace}/{PROVIDER_LEASE}");
    if is_service {
        format!(
            "This provider waits: {lease}, so a service with --capi-provider serves the namespace {namespace}. For this one to do it, take the option off \
             that service (component deploy/capi), or leave {namespace} out of its --namespaces"
        )
    } else {
        format!(
            "This provider waits: {lease}, so it serves the namespace {namespace}. With two replicas of one Deployment all is well; else stop one of \
             the two"
        )
    }
}

/// Which watches fail stands in what the probe for readiness answers.
struct WatchesOf(Arc<BridgeState>);

impl Watches for WatchesOf {
    fn works(&self, kind: &str) {
        self.0.watches().works(kind);
    }

    fn fails(&self, kind: &str, error: String, now: Instant) {
        self.0.watches().fails(kind, error, now);
    }
}
