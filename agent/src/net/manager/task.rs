//! Tasks of a card, which run until they are dropped. None should end before that; one that does is started again.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::error;

/// Interval at which a task is started that ends at once.
const AGAIN: Duration = Duration::from_secs(10);

/// A task that ends when it is dropped.
pub(super) struct Task {
    handle: JoinHandle<()>,
    began: Instant,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

impl Task {
    fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self {
            handle: tokio::spawn(work),
            began: Instant::now(),
        }
    }

    /// The reason for which it ended early, once it is time to start it again.
    fn broken(&mut self) -> Option<String> {
        if !self.handle.is_finished() || self.began.elapsed() < AGAIN {
            return None;
        }
        let ended = (&mut self.handle).now_or_never()?;
        Some(ended.map_or_else(|error| error.to_string(), |()| "it ended".to_owned()))
    }
}

/// Tasks by purpose.
#[derive(Default)]
pub(super) struct Tasks(HashMap<&'static str, Task>);

impl Tasks {
    /// Starts a task unless it runs. Returns a note for the console if it broke meanwhile.
    pub(super) fn keep<F>(
        &mut self,
        nic: &str,
        name: &'static str,
        work: impl FnOnce() -> F,
    ) -> Option<String>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let why = match self.0.get_mut(name) {
            Some(task) => Some(task.broken()?),
            None => None,
        };
        self.0.insert(name, Task::spawn(work()));
        let why = why?;
        error!(nic, task = name, "broke; started again: {why}");
        Some(format!("{name} broke and was started again: {why}"))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Ends one task.
    pub(super) fn end(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Ends all tasks.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_or_ends_is_started_again_and_not_all_the_time() {
        let starts = Arc::new(AtomicUsize::new(0));
        let mut tasks = Tasks::default();
        let mut notes = Vec::new();
        for _ in 0..100 {
            let counted = starts.clone();
            notes.extend(tasks.keep("eth0", "dhcp4", || async move {
                match counted.fetch_add(1, Relaxed) {
                    0 => panic!("a length of 3"),
                    1 => {}
                    _ => std::future::pending().await,
                }
            }));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(starts.load(Relaxed), 3);
        assert!(
            notes[0].contains("dhcp4 broke") && notes[0].contains("a length of 3"),
            "{notes:?}"
        );
        assert_eq!(&notes[1..], ["dhcp4 broke and was started again: it ended"]);
    }
}
