//! Which replies need not be sent again: a good output equal to the last one of its step type, for an hour.
//! Source: docs/protocol/agent-protocol.md#4.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

const REMEMBERED_FOR: Duration = Duration::from_secs(3600);

/// The last good outputs that the service has taken, by step type.
#[derive(Debug, Default)]
pub struct Sent {
    outputs: HashMap<String, (String, Instant)>,
}

impl Sent {
    /// Whether the service has this output already.
    pub fn knows(&self, step_type: &str, exit_code: i64, output: &str, now: Instant) -> bool {
        exit_code == 0
            && self
                .outputs
                .get(step_type)
                .is_some_and(|(last, at)| last == output && now.duration_since(*at) < REMEMBERED_FOR)
    }

    /// The service has taken a reply.
    pub fn remember(&mut self, step_type: &str, exit_code: i64, output: &str, now: Instant) {
        if exit_code == 0 {
            self.outputs
                .insert(step_type.to_owned(), (output.to_owned(), now));
        }
    }

    /// The service may have lost what it had.
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
        assert!(sent.knows("inventory", 0, "{}", Instant::now()));
        assert!(!sent.knows("inventory", 0, "{ }", Instant::now()));
        assert!(!sent.knows("ntp-synchronizer", 0, "{}", Instant::now()));
        assert!(!sent.knows("inventory", -1, "{}", Instant::now()));
        tokio::time::advance(REMEMBERED_FOR).await;
        assert!(!sent.knows("inventory", 0, "{}", Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_and_forgotten_outputs_are_sent_again() {
        let mut sent = Sent::default();
        sent.remember("inventory", 1, "{}", Instant::now());
        assert!(!sent.knows("inventory", 0, "{}", Instant::now()));
        sent.remember("inventory", 0, "{}", Instant::now());
        sent.forget();
        assert!(!sent.knows("inventory", 0, "{}", Instant::now()));
    }
}
