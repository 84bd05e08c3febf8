//! Background jobs, which run until the service stops: one file per job.

pub mod audit;
pub mod boot_requests;
pub mod deadlines;
pub mod disk;
pub mod flush;
pub mod host_jobs;
pub mod inventory_sizes;
pub mod os_images;
pub mod outages;
pub mod outbox;
pub mod reseal;
pub mod resync;
pub mod retention;
pub mod rounds;
pub mod sleep;
pub mod summaries;
pub mod uploads;

use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Operations;

/// Pause of [`until_done`] before another attempt.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Starts all jobs.
pub fn start(operations: &Arc<Operations>, jobs: &mut JoinSet<()>, stop: &CancellationToken) {
    jobs.spawn(audit::run(operations.clone(), stop.clone()));
    jobs.spawn(boot_requests::run(operations.clone(), stop.clone()));
    jobs.spawn(deadlines::run(operations.clone(), stop.clone()));
    jobs.spawn(disk::run(operations.clone(), stop.clone()));
    jobs.spawn(flush::run(operations.clone(), stop.clone()));
    jobs.spawn(host_jobs::run(operations.clone(), stop.clone()));
    jobs.spawn(outages::run(operations.clone(), stop.clone()));
    jobs.spawn(inventory_sizes::run(operations.clone(), stop.clone()));
    jobs.spawn(os_images::run(operations.clone(), stop.clone()));
    jobs.spawn(outbox::run(operations.clone(), stop.clone()));
    jobs.spawn(reseal::run(operations.clone(), stop.clone()));
    jobs.spawn(resync::run(operations.clone(), stop.clone()));
    jobs.spawn(retention::run(operations.clone(), stop.clone()));
    jobs.spawn(sleep::run(operations.clone(), stop.clone()));
    jobs.spawn(summaries::run(operations.clone(), stop.clone()));
    jobs.spawn(uploads::run(operations.clone(), stop.clone()));
}

/// Runs until `stop`: attempts `work` until it succeeds, and calls `failed` each time that it does not. It may be dropped at any pause of `work`.
async fn until_done<F>(stop: &CancellationToken, mut work: impl FnMut() -> F, failed: impl Fn(&StoreError))
where
    F: Future<Output = Result<(), StoreError>>,
{
    let attempts = async {
        while let Err(error) = work().await {
            failed(&error);
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = attempts => {}
        () = stop.cancelled() => {}
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_is_attempted_until_it_succeeds_once() {
        let (attempts, failures) = (Cell::new(0), Cell::new(0));
        let stop = CancellationToken::new();
        let work = || {
            attempts.set(attempts.get() + 1);
            let is_done = attempts.get() == 3;
            async move {
                match is_done {
                    true => Ok(()),
                    false => Err(StoreError::Conflict {
                        table: "t",
                        id: "i".into(),
                    }),
                }
            }
        };
        let count = |_: &StoreError| failures.set(failures.get() + 1);
        let end = async {
            tokio::time::sleep(RETRY_INTERVAL * 9).await;
            stop.cancel();
        };
        tokio::join!(until_done(&stop, work, count), end);
        assert_eq!((attempts.get(), failures.get()), (3, 2));
    }
}
