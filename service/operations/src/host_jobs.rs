//! Jobs: one action of an operator on many hosts, by the same operations as for one. A plan first, then a result for each host.
//! `jobs/host_jobs.rs` works on those that run.

mod act;
mod begin;
mod digest;
mod erasure;
mod error;
mod plan;
mod refusals;
mod select;
mod shown;
mod stored;

pub use begin::ResultsWindow;
pub use error::JobProblem;
pub use muster_store::JobRequester;

pub(crate) use act::{Done, Failed, Halt};
pub(crate) use plan::MAX_REASON;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::hosts::check_ins::HostKey;

/// Hosts that are worked on at once, by all jobs of this process.
pub(crate) const AT_ONCE: usize = 32;

/// Plans that are made at once.
const PLANS: usize = 2;

/// Time that a plan waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// Hosts of all plans that are remembered.
const REMEMBERED: u64 = 200_000;

/// Time for which a plan is remembered.
const REMEMBERED_FOR: Duration = Duration::from_secs(3600);

/// The part of jobs that is in the memory of this process.
pub(crate) struct HostJobs {
    begun: Notify,
    hosts: Semaphore,
    plans: Semaphore,
    /// The hosts of recent plans by their digests: an error about another set of hosts names the difference by them.
    planned: Cache<String, Arc<HashSet<HostKey>>>,
}

impl Default for HostJobs {
    fn default() -> Self {
        let weight =
            |_: &String, hosts: &Arc<HashSet<HostKey>>| u32::try_from(hosts.len() + 1).unwrap_or(u32::MAX);
        Self {
            begun: Notify::new(),
            hosts: Semaphore::new(AT_ONCE),
            plans: Semaphore::new(PLANS),
            planned: Cache::builder()
                .weigher(weight)
                .max_capacity(REMEMBERED)
                .time_to_live(REMEMBERED_FOR)
                .build(),
        }
    }
}

impl HostJobs {
    /// Waits until a job begins in this process.
    pub(crate) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// The turn of a host.
    pub(crate) async fn turn(&self) -> SemaphorePermit<'_> {
        let turn = self.hosts.acquire().await;
        turn.expect("it is never closed")
    }

    /// The turn of a plan.
    ///
    /// # Errors
    /// [`JobProblem::Busy`] if it does not come in time.
    async fn turn_of_plan(&self) -> Result<SemaphorePermit<'_>, JobProblem> {
        let turn = timeout(PATIENCE, self.plans.acquire()).await;
        turn.ok().and_then(Result::ok).ok_or(JobProblem::Busy)
    }
}
