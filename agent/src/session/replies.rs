//! Keeps replies that need not be sent again: a successful output equal to the last one of its step type,
//! for an hour. Source: docs/protocol/agent-protocol.md#4.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

const REMEMBERED_FOR: Duration = Duration::from_secs(3600);

/// The last successful outputs that the service has accepted, by step type.
#[derive(Debug, Default)]
pub struct Sent {
    outputs: HashMap<String, (String, Instant)>,
}

impl Sent {
    /// True if the service has this output already.
    pub fn has(&self, step_type: &str, exit_code: i64, output: &str, now: Instant) -> bool {
        exit_code == 0
            && self
                .outputs
                .get(step_type)
                .is_some_and(|(last, at)| last == output && now.duration_since(*at) < REMEMBERED_FOR)
    }

    /// Stores a reply that the service has accepted.
    pub fn remember(&mut self, step_type: &str, exit_code: i64, output: &str, now: Instant) {
        if exit_code == 0 {
            self.outputs
                .insert(step_type.to_owned(), (output.to_owned(), now));
        }
    }

    /// Clears everything: the service may have lost it.
    pub fn forget(&mut self) {
        self.outputs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_equal_good_output_is_known_for_an_hour() {
        let mut sent = Sent::default();
        sent.remember("inventory", 0, "{}", Instant::now());
        assert!(sent.has("inventory", 0, "{}", Instant::now()));
        assert!(!sent.has("inventory", 0, "{ }", Instant::now()));
        assert!(!sent.has("ntp-synchronizer", 0, "{}", Instant::now()));
        assert!(!sent.has("inventory", -1, "{}", Instant::now()));
        tokio::time::advance(REMEMBERED_FOR).await;
        assert!(!sent.has("inventory", 0, "{}", Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_and_forgotten_outputs_are_sent_again() {
        let mut sent = Sent::default();
        sent.remember("inventory", 1, "{}", Instant::now());
        assert!(!sent.has("inventory", 0, "{}", Instant::now()));
        sent.remember("inventory", 0, "{}", Instant::now());
        sent.forget();
        assert!(!sent.has("inventory", 0, "{}", Instant::now()));
    }
}
