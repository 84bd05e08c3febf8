//! The session of an installed node: polls for the instructions that bring it back into discovery, and never registers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use muster_api::ids::HostId;
use muster_api::steps::Steps;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use uuid::Uuid;

use super::executor::Executor;
use super::replies::Sent;
use super::runner::{Identity, post_replies};
use super::steps::Registry;
use crate::client::{Client, Failure};
use crate::time::clock;

/// The wait between two polls if the service names none.
const INTERVAL: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// First wait after a failed poll; doubles up to [`LONGEST_AFTER_FAILURE`].
const AFTER_FAILURE: Duration = Duration::from_secs(2);
const LONGEST_AFTER_FAILURE: Duration = Duration::from_secs(5 * 60);

/// Polls until `stop`.
pub async fn run(
    client: Client,
    host_id: HostId,
    version: String,
    registry: Arc<Registry>,
    stop: CancellationToken,
) {
    let (sender, finished) = mpsc::unbounded_channel();
    let identity = Identity {
        host_id,
        version: version.clone(),
    };
    let (_identity, known) = watch::channel(Some(identity));
    let sent = Arc::new(Mutex::new(Sent::default()));
    let replying = tokio::spawn(post_replies(client.clone(), known, finished, sent));
    let executor = Executor::new(registry, sender);
    let steps = stop.child_token();
    let polling = async {
        let mut failures = 0;
        loop {
            let request_id = Uuid::new_v4();
            let answer = client
                .instructions(host_id, &version, None, clock::now(), request_id)
                .await;
            let wait = wait_after(&answer, &mut failures, rand::random());
            match answer {
                Ok(answer) => {
                    for step in answer.instructions.unwrap_or_default() {
                        executor.start(step, request_id, steps.clone());
                    }
                    debug!(wait_s = wait.as_secs(), "polled");
                }
                Err(failure) => warn!(next_try_s = wait.as_secs(), "{}", failure.text()),
            }
            tokio::time::sleep(wait).await;
        }
    };
    tokio::select! {
        () = polling => {}
        () = stop.cancelled() => {}
    }
    replying.abort();
}

/// The wait after a response. `jitter` is uniform in `0.0..1.0`: a whole cluster must not poll at one time.
fn wait_after(answer: &Result<Steps, Failure>, failures: &mut u32, jitter: f64) -> Duration {
    let (wait, spread) = match answer {
        Ok(steps) => {
            *failures = 0;
            let asked = u64::try_from(steps.next_instruction_seconds).unwrap_or(0);
            if asked == 0 {
                (INTERVAL, 0.1)
            } else {
                (Duration::from_secs(asked).clamp(SHORTEST, LONGEST), 0.1)
            }
        }
        // The service does not know the host any more, or refuses its token: nothing is urgent.
        Err(failure) if failure.needs_a_person() => (LONGEST_AFTER_FAILURE, 0.25),
        Err(_) => {
            let wait = AFTER_FAILURE.saturating_mul(1 << (*failures).min(16));
            *failures += 1;
            (wait.min(LONGEST_AFTER_FAILURE), 0.25)
        }
    };
    wait.mul_f64(1.0 - spread + 2.0 * spread * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_polls_as_told_and_else_once_a_minute() {
        let mut failures = 3;
        let told = |seconds| {
            Ok(Steps {
                next_instruction_seconds: seconds,
                ..Steps::default()
            })
        };
        assert_eq!(wait_after(&told(0), &mut failures, 0.5), INTERVAL);
        assert_eq!(failures, 0);
        assert_eq!(wait_after(&told(20), &mut failures, 0.5), Duration::from_secs(20));
        assert_eq!(wait_after(&told(99_999), &mut failures, 0.5), LONGEST);
    }

    #[test]
    fn failures_slow_it_down_and_never_end_it() {
        let mut failures = 0;
        let lost = || Err(Failure::Transport(String::new()));
        let waits: Vec<u64> = (0..9)
            .map(|_| wait_after(&lost(), &mut failures, 0.5).as_secs())
            .collect();
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300]);
        let refused = Err(Failure::Status(404, String::new()));
        assert_eq!(wait_after(&refused, &mut 0, 0.5), LONGEST_AFTER_FAILURE);
    }
}
