//! Decides when a cluster that does not respond is tried again. Time is a parameter.

use std::time::{Duration, Instant};

use muster_api::time::Timestamp;

/// Wait after the first failure, doubled with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait: a cluster that responds again is noticed within this time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The record of a cluster's responses.
#[derive(Debug, Clone, Default)]
pub struct Circuit {
    failure: Option<Failure>,
}

#[derive(Debug, Clone)]
struct Failure {
    times: u32,
    /// Time of the first failure in a row.
    since: Timestamp,
    why: String,
    /// Time before which no request is sent.
    closed_until: Instant,
}

impl Failure {
    fn open(&self) -> Open {
        Open {
            since: self.since,
            why: self.why.clone(),
        }
    }
}

/// A request that is not made, since the cluster did not answer the last ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cluster has not answered since {}: {why}; it is tried again at growing intervals, of at most {} s",
    .since.format("%H:%M:%S UTC"), LONGEST_WAIT.as_secs())]
pub struct Open {
    pub since: Timestamp,
    pub why: String,
}

impl Circuit {
    /// Requests permission to send a request. After a failure, permission is given to one at a time: `probe` is the time that it may take.
    ///
    /// # Errors
    /// Fails if no request may be sent now.
    pub fn enter(&mut self, now: Instant, probe: Duration) -> Result<(), Open> {
        let Some(failure) = &mut self.failure else {
            return Ok(());
        };
        if now < failure.closed_until {
            return Err(failure.open());
        }
        failure.closed_until = now + probe;
        Ok(())
    }

    /// The state of a cluster that did not respond to the last request.
    pub fn silence(&self) -> Option<Open> {
        self.failure.as_ref().map(Failure::open)
    }

    /// Records a response.
    pub fn answered(&mut self) {
        self.failure = None;
    }

    /// Records a failure.
    pub fn failed(&mut self, why: String, now: Instant, at: Timestamp) {
        let (times, since) = match &self.failure {
            Some(failure) => (failure.times.saturating_add(1), failure.since),
            None => (0, at),
        };
        let wait = FIRST_WAIT.saturating_mul(1 << times.min(16)).min(LONGEST_WAIT);
        self.failure = Some(Failure {
            times,
            since,
            why,
            closed_until: now + wait,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Duration = Duration::from_secs(10);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn a_silent_cluster_is_asked_by_one_at_a_time_and_less_and_less_often() {
        let mut circuit = Circuit::default();
        let mut now = Instant::now();
        assert!(circuit.enter(now, PROBE).is_ok() && circuit.enter(now, PROBE).is_ok());
        let mut waits = Vec::new();
        for _ in 0..8 {
            circuit.failed("refused".into(), now, at(5));
            let mut waited = 0;
            while circuit.enter(now, PROBE).is_err() {
                now += Duration::from_secs(1);
                waited += 1;
            }
            assert!(circuit.enter(now, PROBE).is_err(), "one probe at a time");
            waits.push(waited);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        let refused = circuit.enter(now, PROBE).unwrap_err();
        assert_eq!(refused.since, at(5));
        assert!(refused.to_string().contains("refused"), "{refused}");
    }

    #[test]
    fn an_answer_ends_it_and_a_probe_that_never_ends_does_not_keep_it_shut() {
        let mut circuit = Circuit::default();
        let now = Instant::now();
        circuit.failed("x".into(), now, at(0));
        let later = now + Duration::from_secs(1);
        assert!(circuit.enter(later, PROBE).is_ok());
        assert!(circuit.enter(later + PROBE, PROBE).is_ok());
        circuit.answered();
        assert!(circuit.enter(later, PROBE).is_ok() && circuit.enter(later, PROBE).is_ok());
        circuit.failed("y".into(), later, at(9));
        assert_eq!(circuit.enter(later, PROBE).unwrap_err().since, at(9));
    }
}
