//! Limits how many downloads run at once. Further clients wait their turn; none is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::buffers::Buffers;

/// The service's download slots and the buffers that all downloads share.
///
/// Only answers with a body take a slot: HEAD, 304 and 416 never wait. Slots are given in the order of asking.
#[derive(Debug, Clone)]
pub struct Downloads {
    slots: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    most: usize,
    buffers: Buffers,
}

/// The right to send one body; given back when dropped.
#[derive(Debug)]
pub struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// Counts a waiting client for as long as it waits, also when it leaves.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        gauge("waiting").increment(1);
        Self(count)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
        gauge("waiting").decrement(1);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        gauge("running").decrement(1);
    }
}

fn gauge(state: &'static str) -> Gauge {
    metrics::gauge!("muster_downloads", "state" => state)
}

impl Downloads {
    /// At most `most` (at least one) bodies at a time.
    pub fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        gauge("running").set(0);
        gauge("waiting").set(0);
        Self {
            slots: Arc::new(Semaphore::new(most)),
            waiting: Arc::default(),
            most,
            buffers: Buffers::default(),
        }
    }

    /// Waits for a slot. Dropping the future gives the place in the queue up.
    pub async fn slot(&self) -> Slot {
        let _waiting = Waiting::new(self.waiting.clone());
        let permit = self.slots.clone().acquire_owned().await;
        gauge("running").increment(1);
        Slot {
            _permit: permit.expect("the semaphore is never closed"),
        }
    }

    /// Bodies being sent now.
    pub fn running(&self) -> usize {
        self.most - self.slots.available_permits()
    }

    /// Clients waiting for a slot now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn buffers(&self) -> &Buffers {
        &self.buffers
    }
}
