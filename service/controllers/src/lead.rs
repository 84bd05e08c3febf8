//! Leader election: one replica holds the lease and runs the controllers. It stops them at once when it loses the
//! lease.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta};
use muster_controller::lease::{LeaseDurations, Move, Observer};
use muster_controller::writes::post_params;
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
    api: Api<Lease>,
    observer: Observer,
    durations: LeaseDurations,
    /// The lease as this replica wrote it last: it is renewed without a read, until another replica has written it.
    ours: Option<Lease>,
}

/// The holder of the lease.
#[derive(Debug, PartialEq)]
enum Turn {
    /// This replica holds the lease.
    Mine,
    /// That replica holds the lease.
    Of(String),
    /// Another replica wrote it at the same time.
    Contested,
}

impl Lead {
    /// Returns the lease in `namespace`, for the replica that is called `me`.
    pub fn new(client: Client, namespace: &str, me: String, durations: LeaseDurations) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            observer: Observer::new(me, durations),
            durations,
            ours: None,
        }
    }

    /// Takes or renews the lease if it is free or held by this replica.
    async fn attempt(&mut self) -> kube::Result<Turn> {
        let found = match self.ours.take() {
            Some(lease) => Some(lease),
            None => self.api.get_opt(LEASE).await?,
        };
        let spec = found.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        let spec = match self
            .observer
            .observe(spec.as_ref(), Instant::now(), Timestamp::now())
        {
            Move::Write(spec) => spec,
            Move::Wait(holder) => return Ok(Turn::Of(holder)),
        };
        let written = match found {
            Some(found) => {
                let lease = Lease {
                    spec: Some(spec),
                    ..found
                };
                // The write names the version that it is based on.
                self.api.replace(LEASE, &post_params(), &lease).await
            }
            None => {
                let metadata = ObjectMeta {
                    name: Some(LEASE.to_owned()),
                    ..ObjectMeta::default()
                };
                let lease = Lease {
                    metadata,
                    spec: Some(spec),
                };
                self.api.create(&post_params(), &lease).await
            }
        };
        match written {
            Ok(lease) => {
                self.ours = Some(lease);
                Ok(Turn::Mine)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Turn::Contested),
            Err(error) => Err(error),
        }
    }

    /// Releases the lease if this replica holds it, so that another replica leads at once.
    async fn release(&mut self) {
        match timeout(REQUEST_LIMIT, self.give_back()).await {
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

    /// True when this replica held it. A renewal that was interrupted may have been written or not, even after the lease was read: then
    /// once more.
    async fn give_back(&mut self) -> kube::Result<bool> {
        loop {
            let found = match self.ours.take() {
                Some(lease) => Some(lease),
                None => self.api.get_opt(LEASE).await?,
            };
            let Some(lease) = found else { return Ok(false) };
            let spec = lease.spec.clone().unwrap_or_default();
            let Some(spec) = self.observer.released(&spec, Timestamp::now()) else {
                return Ok(false);
            };
            let lease = Lease {
                spec: Some(spec),
                ..lease
            };
            match self.api.replace(LEASE, &post_params(), &lease).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                written => return written.map(|_| true),
            }
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
                turn = timeout(patience, self.attempt()) => turn,
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
