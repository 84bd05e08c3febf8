//! Leader election: one replica holds the lease and runs the controllers. It stops them at once when it loses the
//! lease.

use std::time::{Duration, Instant};

use kube::Client;
use muster_controller::lease::LeaseDurations;
use muster_controller::lease::held::{HeldLease, Turn};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::now;
use muster_resources::names::LEASE;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::error::words;

/// Limit of one request about the lease.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// Time for controllers to finish when the service stops.
const FINISH_LIMIT: Duration = Duration::from_secs(5);

/// The lease, as one replica sees it.
pub struct Lead {
    lease: HeldLease,
    durations: LeaseDurations,
}

impl Lead {
    /// Returns the lease in `namespace`, for the replica that is called `me`.
    pub fn new(client: Client, namespace: &str, me: String, durations: LeaseDurations) -> Self {
        Self::named(LEASE, client, namespace, me, durations)
    }

    /// The same with a lease of another name.
    pub fn named(
        name: &'static str,
        client: Client,
        namespace: &str,
        me: String,
        durations: LeaseDurations,
    ) -> Self {
        Self {
            lease: HeldLease::new(client, namespace, name, me, durations),
            durations,
        }
    }

    /// Releases the lease if this replica holds it, so that another replica leads at once.
    async fn release(&mut self) {
        match timeout(REQUEST_LIMIT, self.lease.give_back()).await {
            Ok(Ok(true)) => tracing::info!("the lease is given back"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                tracing::warn!(
                    error = words(&error),
                    "the lease could not be given back; it runs out by itself"
                )
            }
            Err(_) => tracing::warn!("the lease could not be given back in time; it runs out by itself"),
        }
    }

    /// Does `work` whenever this replica holds the lease, until `stop`; then releases the lease.
    pub async fn run<W, F>(mut self, state: &BridgeState, stop: CancellationToken, work: W)
    where
        W: Fn(CancellationToken) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let mut working = Working::new();
        let mut renewed = Instant::now();
        loop {
            let began = Instant::now();
            let patience = working.until(renewed, self.durations, began).min(REQUEST_LIMIT);
            let turn = tokio::select! {
                turn = timeout(patience, self.lease.attempt()) => turn,
                () = stop.cancelled() => break,
            };
            match turn {
                Ok(Ok(Turn::Mine)) => {
                    renewed = began;
                    state.set(BridgeStatus::Leading);
                    if !working.is_begun() {
                        tracing::info!("this replica leads: its controllers run");
                        working.begin(&work);
                    }
                }
                Ok(Ok(Turn::Of(leader))) => {
                    if working.is_begun() {
                        tracing::warn!(leader, "the lease is another's; the controllers here are stopped");
                        working.cut_off().await;
                    }
                    state.set(BridgeStatus::Following(leader));
                }
                Ok(Ok(Turn::Contested)) => {
                    if working.is_begun() {
                        tracing::warn!(
                            "somebody else has written the lease; the controllers here are stopped"
                        );
                        working.cut_off().await;
                    }
                }
                Ok(Err(error)) => unreachable(state, words(&error)),
                Err(_) => unreachable(state, format!("silence for {} s", patience.as_secs())),
            }
            if working.is_begun() && renewed.elapsed() >= self.durations.give_up {
                tracing::warn!("the lease could not be renewed in time; the controllers here are stopped");
                working.cut_off().await;
            }
            let pause = working
                .until(renewed, self.durations, Instant::now())
                .min(self.durations.retry);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = working.ended() => {}
                () = stop.cancelled() => break,
            }
        }
        working.finish().await;
        self.release().await;
    }
}

/// Does `work` until `stop`, where no other replica can be.
pub async fn alone<W, F>(state: &BridgeState, stop: CancellationToken, work: W)
where
    W: Fn(CancellationToken) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut working = Working::new();
    state.set(BridgeStatus::Leading);
    while !stop.is_cancelled() {
        working.begin(&work);
        tokio::select! {
            () = working.ended() => {}
            () = stop.cancelled() => {}
        }
    }
    working.finish().await;
}

fn unreachable(state: &BridgeState, why: String) {
    if !matches!(state.status(), BridgeStatus::Unreachable { .. }) {
        tracing::warn!(why, "the Kubernetes API does not answer; trying again");
    }
    state.unreachable(now(), why);
}

/// The controllers of the leader, as one task.
struct Working {
    task: JoinSet<()>,
    stop: CancellationToken,
}

impl Working {
    fn new() -> Self {
        Self {
            task: JoinSet::new(),
            stop: CancellationToken::new(),
        }
    }

    fn is_begun(&self) -> bool {
        !self.task.is_empty()
    }

    fn begin<W, F>(&mut self, work: &W)
    where
        W: Fn(CancellationToken) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        self.stop = CancellationToken::new();
        self.task.spawn(work(self.stop.clone()));
    }

    /// The time for which the work may continue without a renewal of the lease; long if nothing runs.
    fn until(&self, renewed: Instant, durations: LeaseDurations, now: Instant) -> Duration {
        if self.is_begun() {
            (renewed + durations.give_up).saturating_duration_since(now)
        } else {
            Duration::from_secs(3600)
        }
    }

    /// Waits for the work to end by itself; for ever when it has not begun.
    async fn ended(&mut self) {
        match self.task.join_next().await {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::error!(%error, "the controllers broke; they are restarted"),
            None => std::future::pending().await,
        }
        // Work that ends at once is not restarted at once.
        tokio::time::sleep(LeaseDurations::default().retry).await;
    }

    async fn cut_off(&mut self) {
        self.task.shutdown().await;
    }

    async fn finish(&mut self) {
        self.stop.cancel();
        if self.is_begun() && timeout(FINISH_LIMIT, self.task.join_next()).await.is_err() {
            tracing::warn!("controllers did not end in time; they are cut off");
        }
        self.cut_off().await;
    }
}

#[cfg(test)]
mod tests;
