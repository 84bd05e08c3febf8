//! Background jobs, which run until the service stops: one file per job.

pub mod boot_requests;
pub mod deadlines;
pub mod disk;
pub mod flush;
pub mod inventory_sizes;
pub mod os_images;
pub mod outages;
pub mod outbox;
pub mod reseal;
pub mod resync;
pub mod retention;
pub mod rounds;
pub mod summaries;
pub mod uploads;

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Operations;

/// Starts all jobs.
pub fn start(operations: &Arc<Operations>, jobs: &mut JoinSet<()>, stop: &CancellationToken) {
    jobs.spawn(boot_requests::run(operations.clone(), stop.clone()));
    jobs.spawn(deadlines::run(operations.clone(), stop.clone()));
    jobs.spawn(disk::run(operations.clone(), stop.clone()));
    jobs.spawn(flush::run(operations.clone(), stop.clone()));
    jobs.spawn(outages::run(operations.clone(), stop.clone()));
    jobs.spawn(inventory_sizes::run(operations.clone(), stop.clone()));
    jobs.spawn(os_images::run(operations.clone(), stop.clone()));
    jobs.spawn(outbox::run(operations.clone(), stop.clone()));
    jobs.spawn(reseal::run(operations.clone(), stop.clone()));
    jobs.spawn(resync::run(operations.clone(), stop.clone()));
    jobs.spawn(retention::run(operations.clone(), stop.clone()));
    jobs.spawn(summaries::run(operations.clone(), stop.clone()));
    jobs.spawn(uploads::run(operations.clone(), stop.clone()));
}
