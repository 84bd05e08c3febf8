//! Lets one step stop the installation that another one runs.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};

/// The running installation, if any.
#[derive(Debug, Default)]
pub struct Control {
    present: Mutex<Option<Present>>,
}

#[derive(Debug, Clone)]
struct Present {
    stop: CancellationToken,
    ended: CancellationToken,
}

/// Held while an installation runs.
#[derive(Debug)]
pub struct Run {
    /// Cancelled when the installation is to stop.
    pub stop: CancellationToken,
    _ended: DropGuard,
}

impl Control {
    /// Begins an installation.
    pub fn begin(&self) -> Run {
        let present = Present {
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = Some(present.clone());
        Run {
            stop: present.stop,
            _ended: present.ended.drop_guard(),
        }
    }

    /// True while an installation runs.
    pub fn is_running(&self) -> bool {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        present
            .as_ref()
            .is_some_and(|present| !present.ended.is_cancelled())
    }

    /// Stops the running installation, and waits until it has ended. None if no installation runs; false if it has not ended
    /// within `at_most`.
    pub async fn stop(&self, at_most: Duration) -> Option<bool> {
        let present = self
            .present
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let present = present.filter(|present| !present.ended.is_cancelled())?;
        present.stop.cancel();
        Some(
            tokio::time::timeout(at_most, present.ended.cancelled())
                .await
                .is_ok(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_the_end_and_without_an_installation_there_is_nothing_to_stop() {
        let control = Arc::<Control>::default();
        let second = Duration::from_secs(1);
        assert_eq!(control.stop(second).await, None);
        assert!(!control.is_running());
        let run = control.begin();
        assert!(control.is_running());
        assert_eq!(control.stop(second).await, Some(false));
        assert!(run.stop.is_cancelled());
        let stopping = tokio::spawn({
            let control = Arc::clone(&control);
            async move { control.stop(second).await }
        });
        tokio::task::yield_now().await;
        drop(run);
        assert_eq!(stopping.await.unwrap(), Some(true));
        assert!(!control.is_running());
        assert_eq!(control.stop(second).await, None);
    }
}
