//! Limits the events that the hosts of one InfraEnv cause: their token is in every image, and each event is a row.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use muster_api::ids::InfraEnvId;

/// Events that are accepted at once after a quiet time: an installation of a large pool causes a few for each host.
const BURST: f64 = 1000.0;

/// Events a second that are accepted permanently.
const PER_SECOND: f64 = 5.0;

/// Most InfraEnvs with a bucket; above, the fullest buckets, which are not needed, are dropped.
const MAX_REMEMBERED: usize = 4096;

/// A bucket of events for each InfraEnv, of this replica.
#[derive(Debug, Default)]
pub struct EventQuota {
    buckets: Mutex<HashMap<InfraEnvId, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
    /// True since the first event that was refused.
    is_dry: bool,
}

impl Bucket {
    fn filled(self, now: Instant) -> Self {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * PER_SECOND;
        Self {
            left: (self.left + gained).min(BURST),
            at: now,
            ..self
        }
    }
}

impl EventQuota {
    /// Takes one event out of the InfraEnv's bucket; returns false if it is empty. The first refusal after an accepted
    /// event is logged.
    pub fn take(&self, infra_env_id: InfraEnvId, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_REMEMBERED {
            buckets.retain(|_, bucket| bucket.filled(now).left < BURST);
        }
        let bucket = buckets.entry(infra_env_id).or_insert(Bucket {
            left: BURST,
            at: now,
            is_dry: false,
        });
        *bucket = bucket.filled(now);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            bucket.is_dry = false;
            return true;
        }
        if !bucket.is_dry {
            bucket.is_dry = true;
            tracing::warn!(infra_env.id = %infra_env_id, "its hosts report more than {PER_SECOND} events a second: further ones are dropped");
        }
        metrics::counter!("muster_events_dropped_total").increment(1);
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_infra_env_that_floods_runs_dry_alone_and_recovers() {
        let quota = EventQuota::default();
        let (loud, quiet, start) = (InfraEnvId::random(), InfraEnvId::random(), Instant::now());
        let taken = (0..5000).filter(|_| quota.take(loud, start)).count();
        assert_eq!(taken, BURST as usize);
        assert!(quota.take(quiet, start));
        let later = start + Duration::from_secs(2);
        let taken = (0..5000).filter(|_| quota.take(loud, later)).count();
        assert_eq!(taken, 2 * PER_SECOND as usize);
    }
}
