//! Logs who changed what, and which requests were refused.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use http::StatusCode;
use muster_api::ids::HostId;

use crate::gate::Target;

/// Refusals that are logged in each [`WINDOW`]; further ones are counted.
const MOST_REFUSALS: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// A request for a change, until its response.
pub struct Change {
    who: String,
    operation: String,
    target: Target,
    host: Option<HostId>,
}

impl Change {
    pub fn of(request: &Request, who: String, target: Target, host: Option<HostId>) -> Self {
        Self {
            who,
            operation: operation(request),
            target,
            host,
        }
    }

    /// Logs the change. Every host replies to steps each minute, and no person is behind it: successful replies are logged at debug level.
    pub fn answered(self, status: StatusCode) {
        let Self {
            who,
            operation,
            target,
            host,
        } = self;
        let infra_env = target.infra_env.map(|id| id.to_string());
        let cluster = target.cluster.map(|id| id.to_string());
        let host = host.map(|id| id.to_string());
        let status = status.as_u16();
        if operation.ends_with("/instructions") && status < 300 {
            tracing::debug!(who, operation, infra_env, cluster, host, status, "changed");
        } else {
            tracing::info!(who, operation, infra_env, cluster, host, status, "changed");
        }
    }
}

/// Method and route, not the path: paths may hold tokens.
pub fn operation(request: &Request) -> String {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("", MatchedPath::as_str);
    format!("{} {route}", request.method())
}

/// Logs a refusal of the gate, unless too many were logged in this window.
pub fn refused(operation: &str, status: StatusCode, why: &str) {
    static LATELY: Mutex<Option<Lately>> = Mutex::new(None);
    let mut lately = LATELY.lock().unwrap_or_else(PoisonError::into_inner);
    let (logs, unsaid) = lately
        .get_or_insert_with(|| Lately::new(Instant::now()))
        .one_more(Instant::now());
    drop(lately);
    if unsaid > 0 {
        tracing::info!(refusals = unsaid, "further requests were refused");
    }
    if logs {
        tracing::info!(operation, status = status.as_u16(), why, "refused");
    }
}

/// Refusals of the current window.
struct Lately {
    since: Instant,
    refusals: u32,
}

impl Lately {
    fn new(since: Instant) -> Self {
        Self { since, refusals: 0 }
    }

    /// True when this refusal is logged; with the number of refusals of the last window that were not.
    fn one_more(&mut self, now: Instant) -> (bool, u32) {
        let mut unsaid = 0;
        if now.saturating_duration_since(self.since) >= WINDOW {
            unsaid = self.refusals.saturating_sub(MOST_REFUSALS);
            *self = Self::new(now);
        }
        self.refusals = self.refusals.saturating_add(1);
        (self.refusals <= MOST_REFUSALS, unsaid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_of_refusals_is_counted_and_not_written_down_one_by_one() {
        let start = Instant::now();
        let mut lately = Lately::new(start);
        let logged = (0..1000).filter(|_| lately.one_more(start).0).count();
        assert_eq!(logged, MOST_REFUSALS as usize);
        assert_eq!(lately.one_more(start + WINDOW), (true, 1000 - MOST_REFUSALS));
        assert_eq!(lately.one_more(start + WINDOW), (true, 0));
    }
}
