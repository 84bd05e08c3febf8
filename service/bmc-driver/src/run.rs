//! The loop: claims BMCs that are due, and starts work on them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_bmc::Client;
use muster_operations::{Operations, chain, random};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent;
use crate::arrivals::Arrivals;
use crate::context::Context;
use crate::returns;
use crate::settings::Settings;
use crate::work::work;

/// Changes of hosts within this time are handled together.
const TOGETHER: Duration = Duration::from_millis(200);

/// Runs until `stop`. Work in progress is cancelled then: the next process repeats it from the stored phase.
pub async fn run(
    operations: Arc<Operations>,
    client: Arc<Client>,
    settings: Settings,
    stop: CancellationToken,
) {
    let arrivals = Arrivals::of(&operations.hosts);
    let context = Arc::new(Context {
        client,
        operations,
        settings,
        who: random::short_id(),
    });
    let hosts = tokio::spawn(follow_hosts(context.clone(), arrivals));
    let mut running = JoinSet::new();
    let mut swept = None;
    loop {
        context.operations.rounds.begin("BMCs");
        if swept.is_none_or(|at: Instant| at.elapsed() >= context.settings.poll) {
            returns::sweep(&context).await;
            swept = Some(Instant::now());
        }
        claim(&context, &mut running).await;
        metrics::gauge!("muster_bmcs_worked_on").set(running.len() as f64);
        let full = running.len() >= context.settings.at_once;
        tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = running.join_next(), if !running.is_empty() => {
                if let Err(panic) = ended {
                    tracing::error!(error = %panic, "work on a BMC ended unforeseen; its claim ends by itself");
                }
            }
            () = context.operations.bmcs.due(), if !full => {}
            () = tokio::time::sleep(context.settings.poll) => {}
        }
    }
    hosts.abort();
    // Sessions on BMCs are ended in the background.
    running.shutdown().await;
    if let Err(error) = context.operations.bmcs.release_all_of(&context.who).await {
        tracing::warn!(
            error = chain(&error),
            "claims of BMCs could not be given back; they end by themselves"
        );
    }
}

async fn claim(context: &Arc<Context>, running: &mut JoinSet<()>) {
    let free = context.settings.at_once.saturating_sub(running.len());
    let free = u32::try_from(free).unwrap_or(u32::MAX);
    if free == 0 {
        return;
    }
    let bmcs = &context.operations.bmcs;
    let claimed = bmcs.claim_due(&context.who, context.settings.claim, free).await;
    match claimed {
        Ok(claimed) => {
            for bmc in claimed {
                running.spawn(work(context.clone(), bmc));
            }
        }
        Err(error) => {
            tracing::warn!(error = chain(&error), "due BMCs could not be read; trying again");
        }
    }
}

async fn follow_hosts(context: Arc<Context>, arrivals: Arc<Arrivals>) {
    loop {
        arrivals.filled().await;
        tokio::time::sleep(TOGETHER).await;
        for (infra_env_id, ids) in arrivals.take() {
            if let Err(error) = agent::look_at(&context, infra_env_id, &ids).await {
                // They are compared again with their BMCs.
                tracing::debug!(infra_env.id = %infra_env_id, error = chain(&error), "hosts were not compared with BMCs");
            }
        }
    }
}
