//! Records replies that need not be sent again: a successful one to the same step with the same arguments, for an hour.
//! (Other agents compare outputs; here an output depends only on machine and arguments, so these are compared and no
//! output is made.)

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use muster_api::steps::Step;
use tokio::time::Instant;

const REMEMBERED_FOR: Duration = Duration::from_secs(3600);

/// The last successful replies of an agent, one a step type.
#[derive(Debug, Default)]
pub struct Sent {
    replies: Vec<(u64, u64, Instant)>,
    /// The hosts of an earlier run: the first reply of each type counts as sent then.
    taken_over: bool,
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Sent {
    /// Handles that an earlier run has sent everything.
    pub fn take_over(&mut self) {
        self.taken_over = true;
    }

    /// True if the service has the reply already.
    pub fn knows(&mut self, step: &Step) -> bool {
        let (kind, args) = (hash(&step.step_type), hash(&step.args));
        match self.replies.iter().find(|(known, ..)| *known == kind) {
            Some((_, known, at)) => *known == args && at.elapsed() < REMEMBERED_FOR,
            None if self.taken_over => {
                self.remember(step);
                true
            }
            None => false,
        }
    }

    /// Records that the service has accepted the reply.
    pub fn remember(&mut self, step: &Step) {
        let kind = hash(&step.step_type);
        self.replies.retain(|(known, ..)| *known != kind);
        self.replies.push((kind, hash(&step.args), Instant::now()));
    }

    /// Drops the record: the service may have lost its data.
    pub fn forget(&mut self) {
        self.replies.clear();
        self.taken_over = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: &str, argument: &str) -> Step {
        Step {
            step_type: kind.into(),
            step_id: String::new(),
            args: vec![argument.into()],
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_question_is_answered_once_an_hour() {
        let mut sent = Sent::default();
        assert!(!sent.knows(&step("inventory", "a")));
        sent.remember(&step("inventory", "a"));
        assert!(sent.knows(&step("inventory", "a")));
        assert!(!sent.knows(&step("inventory", "b")));
        assert!(!sent.knows(&step("ntp-synchronizer", "a")));
        tokio::time::advance(REMEMBERED_FOR).await;
        assert!(!sent.knows(&step("inventory", "a")));
        sent.remember(&step("inventory", "a"));
        sent.forget();
        assert!(!sent.knows(&step("inventory", "a")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_goes_on_answers_only_what_is_new() {
        let mut sent = Sent::default();
        sent.take_over();
        assert!(sent.knows(&step("inventory", "a")));
        assert!(!sent.knows(&step("inventory", "b")));
    }
}
