//! Decides how often and how soon to repeat a failed request. Source: docs/protocol/install-flow.md#5.

use std::time::Duration;

use tokio::time::Instant;

use crate::client::Failure;

/// The patience of an installation with servers.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Repetitions of a request for something that is not there yet.
    pub few: u32,
    /// Repetitions of a request to a server that fails.
    pub many: u32,
    /// Longest pause before the first repetition; doubles up to [`Patience::longest_pause`].
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// Longest time without any progress.
    pub limit: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            few: 10,
            many: 360,
            first_pause: Duration::from_secs(2),
            longest_pause: Duration::from_secs(10),
            limit: Duration::from_secs(30 * 60),
        }
    }
}

impl Patience {
    /// The number of repetitions for a failure.
    pub fn repetitions(&self, failure: &Failure) -> u32 {
        match failure {
            Failure::Status(404 | 423 | 425, _) | Failure::Malformed(_) => self.few,
            Failure::Status(408 | 429 | 500.., _) | Failure::Transport(_) | Failure::CertificateDates(_) => {
                self.many
            }
            Failure::Status(..) => 0,
        }
    }

    /// The pause before the next attempt, or none if there must not be one. `failures` is 1 after the first failure;
    /// `jitter` is uniform in `0.0..1.0`.
    pub fn pause(
        &self,
        failure: &Failure,
        failures: u32,
        since: Instant,
        now: Instant,
        jitter: f64,
    ) -> Option<Duration> {
        if failures > self.repetitions(failure) || now.duration_since(since) >= self.limit {
            return None;
        }
        let doubled = self
            .first_pause
            .saturating_mul(1 << failures.saturating_sub(1).min(16));
        Some(doubled.min(self.longest_pause).mul_f64(jitter.clamp(0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_final_and_a_sick_server_is_given_half_an_hour() {
        let patience = Patience::default();
        let status = |code| Failure::Status(code, String::new());
        for (failure, repetitions) in [
            (status(401), 0),
            (status(403), 0),
            (status(409), 0),
            (status(404), 10),
            (status(425), 10),
            (status(429), 360),
            (status(500), 360),
            (status(511), 360),
            (Failure::Transport(String::new()), 360),
            (Failure::Malformed(String::new()), 10),
        ] {
            assert_eq!(patience.repetitions(&failure), repetitions, "{failure:?}");
        }
        let began = Instant::now();
        let pause = |failures, after| patience.pause(&status(503), failures, began, began + after, 1.0);
        assert_eq!(pause(1, Duration::ZERO), Some(Duration::from_secs(2)));
        assert_eq!(pause(2, Duration::ZERO), Some(Duration::from_secs(4)));
        assert_eq!(pause(300, Duration::ZERO), Some(Duration::from_secs(10)));
        assert_eq!(pause(361, Duration::ZERO), None);
        assert_eq!(pause(2, Duration::from_secs(1800)), None);
        assert_eq!(patience.pause(&status(403), 1, began, began, 1.0), None);
    }
}
