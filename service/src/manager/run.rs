//! Starts listeners and controllers, and stops them at a signal.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use muster_connections::Listener;
use muster_controller::context::counted;
use muster_controllers::manager::{self, Manager};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::random;
use muster_outgoing::Networks;
use rustix::system::uname;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::listeners::{Listeners, metrics, probes};
use crate::cli::manager::ManagerArgs;
use crate::serve::signals::Signals;
use crate::{kubernetes, listen, logging, upkeep};

/// Time for running probes and scrapes at the end.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs the provider until SIGTERM or SIGINT.
///
/// # Errors
/// Fails if a listener or the client of the API server cannot be made. An API server that does not answer is waited for.
pub async fn run(args: ManagerArgs) -> Result<()> {
    let (format, level) = args.log();
    logging::start(format, level)?;
    let (_, budgets) = listen::raise_file_limit();
    let listeners = Listeners::bind(&args, budgets.status)?;
    let mut signals = Signals::new()?;
    let client = counted(kubernetes::client(args.kubeconfig().as_deref()).await?);
    let recorded = upkeep::recorder()?;
    let state = Arc::new(BridgeState::new(BridgeStatus::Starting, false));
    let stop = CancellationToken::new();
    let mut requests: JoinSet<Result<()>> = JoinSet::new();
    let mut answer = |listener: Option<Listener>, router: Router| {
        if let Some(listener) = listener {
            listen::spawn(&mut requests, listener, router, None, stop.clone(), DRAIN);
        }
    };
    answer(listeners.probes, probes(state.clone()));
    answer(listeners.metrics, metrics(state.clone(), recorded.clone()));
    let machine = uname().nodename().to_string_lossy().into_owned();
    let manager = Manager {
        client,
        me: args
            .leader_elect
            .then(|| format!("{machine}_{}", random::short_id())),
        // A workload cluster on this machine's loopback is only where the networks name it.
        workload_networks: Networks::of_api_servers(&args.workload_networks, false),
        namespace: args.namespace,
        agent_namespace: args.agent_namespace,
        state,
    };
    tracing::info!(
        namespace = manager.namespace,
        agents = manager.agent_namespace,
        "takes Agents for Machines"
    );
    let mut work = JoinSet::new();
    work.spawn(manager::run(manager, stop.clone()));
    work.spawn(upkeep::run(recorded, stop.clone()));
    let outcome = tokio::select! {
        () = signals.next() => Ok(()),
        Some(ended) = work.join_next() => ended.context("a part of the provider ended"),
        Some(ended) = requests.join_next() => ended.context("a listener ended").flatten(),
    };
    tracing::info!("stopping: the Lease is given back");
    stop.cancel();
    tokio::select! {
        () = async { while work.join_next().await.is_some() {} } => {}
        () = signals.next() => tracing::warn!("a second signal: what still runs is cut off"),
    }
    while requests.join_next().await.is_some() {}
    outcome
}
