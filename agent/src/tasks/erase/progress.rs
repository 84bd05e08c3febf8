//! How far the erasure of one disk is: its thread writes it, the step's answer and the screen show it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_api::steps::{DiskErasure, ErasureMethod, ErasureState};
use tokio_util::sync::CancellationToken;

use super::error::EraseError;

/// Time beyond a command's own limit in which the kernel gives up a disk that does not answer: it repeats a command up to five times, 30 s
/// each, and resets the controller.
const GRACE: Duration = Duration::from_secs(10 * 60);

/// Shared by a disk's thread and those that report on it.
#[derive(Debug)]
pub struct Progress {
    shown: Mutex<Shown>,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct Shown {
    erasure: DiskErasure,
    began: Option<Instant>,
    /// The time by which the present command must have ended.
    due: Option<Instant>,
    /// The disk did not answer: what its thread reports later changes nothing.
    given_up: bool,
}

impl Progress {
    /// Of a disk that waits. It ends when `stop` is cancelled.
    pub fn new(id: String, stop: CancellationToken) -> Self {
        let erasure = DiskErasure {
            id,
            ..DiskErasure::default()
        };
        Self {
            shown: Mutex::new(Shown {
                erasure,
                ..Shown::default()
            }),
            stop,
        }
    }

    /// Begins; there are `total` bytes to erase.
    pub fn begin(&self, total: u64) {
        self.change(|shown| {
            shown.began = Some(Instant::now());
            shown.erasure.state = ErasureState::Erasing;
            shown.erasure.bytes_total = signed(total);
        });
    }

    /// A method begins from the start.
    pub fn method(&self, method: ErasureMethod) {
        self.change(|shown| {
            shown.erasure.method = Some(method);
            shown.erasure.bytes_done = 0;
        });
    }

    /// The bytes to erase, once they are known better.
    pub fn total(&self, total: u64) {
        self.change(|shown| shown.erasure.bytes_total = signed(total));
    }

    pub fn done(&self, bytes: u64) {
        self.change(|shown| shown.erasure.bytes_done = signed(bytes).min(shown.erasure.bytes_total));
    }

    /// The share that is done, of 65,536.
    pub fn share(&self, part: u16) {
        self.change(|shown| {
            let total = i128::from(shown.erasure.bytes_total);
            let done = total * i128::from(part) / 65_536;
            shown.erasure.bytes_done = i64::try_from(done).unwrap_or(shown.erasure.bytes_total);
        });
    }

    /// A command begins that ends within `limit`.
    pub fn expect(&self, limit: Duration) {
        self.change(|shown| shown.due = Instant::now().checked_add(limit.saturating_add(GRACE)));
    }

    /// # Errors
    /// [`EraseError::Stopped`] if the erasure is to end.
    pub fn go_on(&self) -> Result<(), EraseError> {
        if self.stop.is_cancelled() {
            Err(EraseError::Stopped)
        } else {
            Ok(())
        }
    }

    /// Ends well. `notes`: why earlier methods were not possible; empty if none was.
    pub fn erased(&self, samples: u64, notes: String) {
        self.end(|erasure| {
            erasure.state = ErasureState::Erased;
            erasure.bytes_done = erasure.bytes_total;
            erasure.samples = signed(samples);
            erasure.message = notes;
        });
    }

    /// Ends without the disk being erased. One that was stopped waits for the next request.
    pub fn failed(&self, error: &EraseError) {
        self.end(|erasure| {
            erasure.state = match error {
                EraseError::Stopped => ErasureState::Waiting,
                EraseError::Failed(_) => ErasureState::Failed,
            };
            erasure.message = error.to_string();
        });
    }

    /// Gives the disk up if the present command should have ended.
    pub fn give_up_when_due(&self, now: Instant) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.given_up || shown.due.is_none_or(|due| now < due) {
            return;
        }
        shown.given_up = true;
        shown.stamp();
        shown.erasure.state = ErasureState::Failed;
        shown.erasure.message =
            "the disk has not answered a command for longer than that may take; switch the machine off and on, or replace the disk"
                .to_owned();
        self.stop.cancel();
    }

    pub fn shown(&self) -> DiskErasure {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.erasure.state == ErasureState::Erasing {
            shown.stamp();
        }
        shown.erasure.clone()
    }

    fn change(&self, how: impl FnOnce(&mut Shown)) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if !shown.given_up {
            how(&mut shown);
        }
    }

    fn end(&self, how: impl FnOnce(&mut DiskErasure)) {
        self.change(|shown| {
            shown.stamp();
            shown.due = None;
            how(&mut shown.erasure);
        });
    }
}

impl Shown {
    fn stamp(&mut self) {
        let took = self.began.map_or(0, |began| began.elapsed().as_secs());
        self.erasure.seconds = signed(took);
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress::new("/dev/sda".into(), CancellationToken::new())
    }

    #[test]
    fn an_erasure_has_its_method_bytes_and_samples() {
        let progress = progress();
        assert_eq!(progress.shown().state, ErasureState::Waiting);
        progress.begin(1000);
        progress.method(ErasureMethod::NvmeSanitize);
        progress.share(32_768);
        let shown = progress.shown();
        assert_eq!(
            (shown.state, shown.bytes_done, shown.bytes_total),
            (ErasureState::Erasing, 500, 1000)
        );
        progress.method(ErasureMethod::Overwrite);
        assert_eq!(progress.shown().bytes_done, 0);
        progress.done(5000);
        assert_eq!(progress.shown().bytes_done, 1000);
        progress.erased(7, "why".into());
        let shown = progress.shown();
        assert_eq!((shown.state, shown.samples), (ErasureState::Erased, 7));
        assert_eq!(
            (shown.method, shown.message.as_str()),
            (Some(ErasureMethod::Overwrite), "why")
        );
    }

    #[test]
    fn a_disk_that_was_stopped_waits_and_one_that_failed_does_not() {
        let stopped = progress();
        stopped.begin(1);
        stopped.failed(&EraseError::Stopped);
        assert_eq!(stopped.shown().state, ErasureState::Waiting);
        let failed = progress();
        failed.failed(&EraseError::Failed("it is frozen".into()));
        assert_eq!(failed.shown().state, ErasureState::Failed);
        assert_eq!(failed.shown().message, "it is frozen");
    }

    #[test]
    fn a_disk_that_does_not_answer_is_given_up_and_stays_so() {
        let progress = progress();
        progress.begin(1000);
        progress.expect(Duration::from_secs(60));
        let now = Instant::now();
        progress.give_up_when_due(now + Duration::from_secs(61));
        assert_eq!(
            progress.shown().state,
            ErasureState::Erasing,
            "the kernel may yet"
        );
        progress.give_up_when_due(now + Duration::from_secs(62) + GRACE);
        assert_eq!(progress.shown().state, ErasureState::Failed);
        assert!(progress.go_on().is_err());
        progress.erased(7, String::new());
        assert_eq!(progress.shown().state, ErasureState::Failed);
    }
}
