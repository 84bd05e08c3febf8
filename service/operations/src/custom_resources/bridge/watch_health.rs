//! Records which watches of the custom-resource bridge fail, for the log and `/ready`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A watch that fails for this long is reported.
const REPORTED_AFTER: Duration = Duration::from_secs(30);

/// Between two log lines about one failing watch.
const LOG_INTERVAL: Duration = Duration::from_secs(300);

/// A watch that has not failed again for this long works: attempts are at most 30 s apart, and a success without
/// objects is not reported.
const WORKS_AFTER: Duration = Duration::from_secs(90);

/// Failing watches by kind.
#[derive(Debug, Default)]
pub struct WatchHealth(Mutex<BTreeMap<String, Failing>>);

#[derive(Debug, Clone)]
struct Failing {
    since: Instant,
    last: Instant,
    logged: Option<Instant>,
    error: String,
}

impl WatchHealth {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Failing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a watch of objects of `kind` received something.
    pub fn works(&self, kind: &str) {
        if let Some(failing) = self.all().remove(kind)
            && failing.logged.is_some()
        {
            tracing::info!(kind, "the watch works again");
        }
    }

    /// Records that a watch of objects of `kind` failed.
    pub fn fails(&self, kind: &str, error: String, now: Instant) {
        let mut all = self.all();
        let failing = all.entry(kind.to_owned()).or_insert_with(|| Failing {
            since: now,
            last: now,
            logged: None,
            error: String::new(),
        });
        if now.duration_since(failing.last) > WORKS_AFTER {
            failing.since = now;
        }
        failing.last = now;
        failing.error = error;
        let is_due = failing
            .logged
            .is_none_or(|logged| now.duration_since(logged) >= LOG_INTERVAL);
        if is_due && now.duration_since(failing.since) >= REPORTED_AFTER {
            failing.logged = Some(now);
            let seconds = now.duration_since(failing.since).as_secs();
            tracing::warn!(
                kind,
                seconds,
                error = failing.error,
                "a watch fails; it is tried again"
            );
        }
    }

    /// One sentence about the watches that have failed for some time; `None`: all work.
    pub fn report(&self, now: Instant) -> Option<String> {
        let failing: Vec<String> = self
            .all()
            .iter()
            .filter(|(_, failing)| {
                now.duration_since(failing.since) >= REPORTED_AFTER
                    && now.duration_since(failing.last) <= WORKS_AFTER
            })
            .map(|(kind, failing)| {
                let seconds = now.duration_since(failing.since).as_secs();
                format!("the watch of {kind} fails since {seconds} s: {}", failing.error)
            })
            .collect();
        (!failing.is_empty()).then(|| failing.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_is_reported_when_it_fails_for_some_time_and_not_when_it_stumbles() {
        let (health, start) = (WatchHealth::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        health.fails("infraenvs", "refused".into(), start);
        assert_eq!(health.report(after(5)), None);
        health.fails("infraenvs", "refused".into(), after(31));
        assert_eq!(
            health.report(after(40)).as_deref(),
            Some("the watch of infraenvs fails since 40 s: refused")
        );
        assert_eq!(health.report(after(200)), None, "it has not failed again");
        health.fails("infraenvs", "refused".into(), after(400));
        assert_eq!(health.report(after(401)), None, "that was another failure");
        health.works("infraenvs");
        assert_eq!(health.report(after(1000)), None);
    }
}
