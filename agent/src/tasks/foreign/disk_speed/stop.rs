//! Stops checks early: a stopped check zeroes its region before it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Stops one check. Clones stop the same one.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn now(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst) || ALL.load(Ordering::SeqCst)
    }
}

static ALL: AtomicBool = AtomicBool::new(false);
static WRITING: Mutex<usize> = Mutex::new(0);
static DONE: Condvar = Condvar::new();

/// Held while a disk is not blank.
pub(super) struct Writing;

impl Writing {
    pub(super) fn begin() -> Self {
        *WRITING.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        *WRITING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        DONE.notify_all();
    }
}

/// Stops all checks for good and waits until their disks are blank again, at most `at_most`. False when that
/// was too short. For the end of the program or the machine.
pub fn stop_all(at_most: Duration) -> bool {
    ALL.store(true, Ordering::SeqCst);
    let until = Instant::now() + at_most;
    let mut writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    while *writing > 0 {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        writing = DONE
            .wait_timeout(writing, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    true
}
