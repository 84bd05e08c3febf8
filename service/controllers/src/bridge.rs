//! Runs the bridge: waits for the kinds that it needs, holds the lease, runs the controllers.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use muster_cluster_api::capi::turns::{Holder, SERVICE, Turns};
use muster_controller::context::with_deadline;
use muster_controller::error::words;
use muster_controller::events::Events;
use muster_controller::kinds;
use muster_controller::lease::LeaseDurations;
use muster_controller::namespaces::Namespaces;
use muster_metal3::Flow;
use muster_metal3::drives::Drives;
use muster_operations::bridge::BridgeStatus;
use muster_operations::{Operations, now};
use muster_outgoing::Networks;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::lead::{Lead, alone};
use super::looks::Looks;
use super::node_pools::NodePoolLooks;
use super::{foreign_references, rivals, run};

/// Between two checks for kinds that the API server lacks.
const KINDS_INTERVAL: Duration = Duration::from_secs(5);

/// Settings of the bridge to its Kubernetes API.
pub struct Bridge {
    /// A client of the API server.
    pub client: Client,
    /// Namespace of the lease and name of this replica; `None` where no other replica can be.
    pub lease: Option<(String, String)>,
    /// True when AgentClusters and AgentMachines are reconciled as well.
    pub capi_provider: bool,
    /// Value of the label `cluster.x-k8s.io/watch-filter` of those that are; `None`: all.
    pub watch_filter: Option<String>,
    /// True when Clusters, Machines, HostedClusters and NodePools are reconciled: on the built-in API, where no Cluster API is.
    pub node_pools: bool,
    /// True when objects that were made by REST are shown as custom resources: on the built-in API, unless that is disabled.
    pub mirror: bool,
    /// The way in which BareMetalHosts get to the discovery image.
    pub metal3: Flow,
    /// Empties the drives of machines that are detached from Metal3.
    pub drives: Option<Arc<dyn Drives>>,
    /// The namespaces that are watched.
    pub namespaces: Namespaces,
    /// The networks of API servers of workload clusters.
    pub workload_networks: Networks,
    /// True when controllers run although another service of this kind runs some in another namespace.
    pub take_over: bool,
}

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, bridge: Bridge, stop: CancellationToken) {
    let Bridge {
        client,
        lease,
        capi_provider,
        watch_filter,
        node_pools,
        mirror,
        metal3,
        drives,
        namespaces,
        workload_networks,
        take_over,
    } = bridge;
    let limited = with_deadline(client.clone());
    operations.bridge.look_by(Arc::new(Looks {
        client: limited.clone(),
        namespaces: namespaces.clone(),
    }));
    operations.bridge.read_node_pools_by(Arc::new(NodePoolLooks {
        client: limited.clone(),
        namespaces: namespaces.clone(),
    }));
    tokio::select! {
        () = kinds_known(&operations, &client, capi_provider) => {}
        () = stop.cancelled() => return,
    }
    if let Some((namespace, _)) = &lease {
        tokio::select! {
            () = rivals::none_left(&operations, &client, namespace, take_over) => {}
            () = stop.cancelled() => return,
        }
        // The built-in API has one administrator, who may write in all namespaces.
        tokio::select! {
            () = foreign_references::warn_unless_held(&limited) => {}
            () = stop.cancelled() => return,
        }
    }
    // The built-in API, which has no lease or one among replicas, runs the provider of its service alone.
    let holder = lease
        .as_ref()
        .filter(|_| !node_pools)
        .map(|(namespace, _)| Holder {
            me: format!("{SERVICE}{namespace}"),
            take_over,
        });
    let work = |stop| {
        let (events, queued) = Events::new();
        let context = Context::new(
            &client,
            operations.clone(),
            events,
            namespaces.clone(),
            workload_networks.clone(),
        );
        let context = Arc::new(Context {
            sets_provider_ids: capi_provider,
            has_node_pools: node_pools,
            watch_filter: watch_filter.clone(),
            turns: holder.clone().map_or_else(Turns::alone, Turns::among_others),
            ..context
        });
        run::run(
            context,
            queued,
            run::Parts {
                capi_provider,
                node_pools,
                mirror,
                metal3,
                drives: drives.clone(),
            },
            stop,
        )
    };
    match lease {
        None => alone(&operations.bridge, stop, work).await,
        Some((namespace, me)) => {
            let lead = Lead::new(client.clone(), &namespace, me, LeaseDurations::default());
            tokio::select! {
                () = lead.run(&operations.bridge, stop, work) => {}
                () = rivals::watch(operations.clone(), client.clone(), namespace) => {}
            }
        }
    }
}

/// Waits until the API server knows all kinds.
async fn kinds_known(operations: &Operations, client: &Client, capi_provider: bool) {
    loop {
        let before = operations.bridge.status();
        match kinds::lacking(client, capi_provider).await {
            Ok(None) => return,
            Ok(Some(what)) => operations.bridge.set(BridgeStatus::LacksKinds(what)),
            Err(error) => operations.bridge.unreachable(now(), words(&error)),
        }
        let status = operations.bridge.status();
        if std::mem::discriminant(&before) != std::mem::discriminant(&status) {
            tracing::warn!("custom resources wait: {status}");
        }
        tokio::time::sleep(KINDS_INTERVAL).await;
    }
}
