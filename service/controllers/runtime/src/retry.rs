//! Schedules the retries of reconciles that failed, and names the intervals that all kinds share.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::runtime::controller::Action;

/// Between two reconciles of an object that waits for something that no watch shows. Source:
/// docs/protocol/kube-controllers.md#0.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Limit of one reconcile. Work that was not completed is done by the next.
pub const RECONCILE_LIMIT: Duration = Duration::from_secs(60);

/// Requests the next reconcile after the shortest of these times; with none, when something changes.
pub fn soonest<const N: usize>(after: [Option<Duration>; N]) -> Action {
    let first = after.into_iter().flatten().min();
    first.map_or_else(Action::await_change, Action::requeue)
}

/// Waits of one sort, doubled with each failure.
#[derive(Debug, Clone, Copy)]
struct Backoff {
    first: Duration,
    longest: Duration,
}

/// Waits after failures. The longest is the protocol's (docs/protocol/kube-controllers.md#0).
const FAILED: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: RETRY_INTERVAL,
};

/// Waits after a conflict with another writer.
const CONFLICT: Backoff = Backoff {
    first: Duration::from_millis(100),
    longest: Duration::from_secs(5),
};

/// Failures in a row, by object.
#[derive(Debug)]
pub struct Failures<K>(Mutex<HashMap<K, Failed>>);

#[derive(Debug, Clone, Copy, Default)]
struct Failed {
    times: u32,
    by_conflict: bool,
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Failures<K> {
    fn all(&self) -> MutexGuard<'_, HashMap<K, Failed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a failure. Returns the wait before the next try, and how many failures there were in a row.
    pub fn add(&self, key: K, by_conflict: bool) -> (Duration, u32) {
        let mut all = self.all();
        let failed = all.entry(key).or_default();
        let backoff = if by_conflict { CONFLICT } else { FAILED };
        let wait = backoff.first.saturating_mul(1 << failed.times.min(16));
        failed.times = failed.times.saturating_add(1);
        failed.by_conflict = by_conflict;
        (wait.min(backoff.longest), failed.times)
    }

    /// True when the last failure was a conflict: the object is older than the one in the API
    /// server.
    pub fn is_outdated(&self, key: &K) -> bool {
        self.all().get(key).is_some_and(|failed| failed.by_conflict)
    }

    /// Forgets the failures of an object.
    pub fn clear(&self, key: &K) {
        self.all().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_begin_anew_after_success() {
        let failures = Failures::default();
        let waits: Vec<_> = (0..7).map(|_| failures.add("a", false).0.as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        assert_eq!(failures.add("b", true).0.as_millis(), 100);
        failures.clear(&"a");
        assert_eq!(failures.add("a", false), (Duration::from_millis(500), 1));
        for _ in 0..100 {
            failures.add("a", true);
        }
        assert_eq!(failures.add("a", true).0, Duration::from_secs(5));
    }

    #[test]
    fn after_a_conflict_the_known_object_is_outdated() {
        let failures = Failures::default();
        failures.add("a", true);
        assert!(failures.is_outdated(&"a"));
        failures.add("a", false);
        assert!(!failures.is_outdated(&"a") && !failures.is_outdated(&"b"));
    }
}
