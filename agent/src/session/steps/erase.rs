//! `erase-disks`: begins to erase disks of a host that left a cluster, and returns how far that is. Our addition to the protocol:
//! `muster_api::steps::EraseDisksRequest`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::{EraseDisksRequest, EraseDisksResponse};

use crate::drivers::devices::Devices;
use crate::erase::erasures::{EraseRefusal, Erasures};
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::EraseDisks;
/// Longest duration of everything; each command to a disk has a limit of its own, and the longest of those is two weeks.
const DEADLINE: Duration = Duration::from_secs(15 * 24 * 60 * 60);
/// Longest wait for the disks of power-on.
const SETTLING: Duration = Duration::from_secs(10);

/// The step counts as running until the last disk is done, so that no other program of the agent takes over meanwhile; the reply to each
/// request is sent at once.
pub struct EraseDisks {
    devices: Devices,
    erasures: Arc<Erasures>,
}

impl EraseDisks {
    pub fn new(devices: Devices, erasures: Arc<Erasures>) -> Self {
        Self { devices, erasures }
    }
}

impl StepHandler for EraseDisks {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }

    fn when_running(&self, args: &[String]) -> Option<StepOutput> {
        let progress = one_argument::<EraseDisksRequest>(NAME, args)
            .and_then(|request| self.erasures.progress(&request).map_err(refused));
        match progress {
            Ok(Some(response)) => Some(StepOutput::json(&response)),
            // The one before ends just now: the service sends the request again.
            Ok(None) => None,
            Err(StepError(text)) => Some(StepOutput::failed(text)),
        }
    }

    fn end(&self) {
        self.erasures.cancel();
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (devices, erasures) = (self.devices.clone(), Arc::clone(&self.erasures));
        let until_end = Arc::clone(&running);
        reply(running, async move {
            let request: EraseDisksRequest = one_argument(NAME, &args)?;
            if !devices.settled(SETTLING).await {
                tracing::warn!("storage has not settled");
            }
            let response: EraseDisksResponse = erasures.begin(&request, until_end).map_err(refused)?;
            Ok(StepOutput::json(&response))
        })
    }
}

fn refused(refusal: EraseRefusal) -> StepError {
    StepError::of(NAME, refusal)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use muster_api::steps::{DiskToErase, ErasureState, Step};
    use tokio::sync::{mpsc, watch};
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;

    use super::*;
    use crate::erase::Erased;
    use crate::erase::erasures::{Task, Tasks};
    use crate::erase::error::EraseError;
    use crate::erase::progress::Progress;
    use crate::session::executor::{Executor, Finished};
    use crate::session::steps::Registry;

    /// A machine whose disks are erased when the test permits it.
    fn gated() -> (Sender<()>, Tasks) {
        let (permit, gate) = channel::<()>();
        let gate: Arc<Mutex<Receiver<()>>> = Arc::new(Mutex::new(gate));
        let tasks: Tasks = Arc::new(move |request: &EraseDisksRequest| {
            let task = |_: &DiskToErase| -> Result<Task, String> {
                let gate = Arc::clone(&gate);
                Ok(Box::new(
                    move |progress: &Progress| -> Result<Erased, EraseError> {
                        progress.begin(1000);
                        let _ = gate.lock().unwrap().recv();
                        progress.go_on()?;
                        Ok(Erased {
                            samples: 7,
                            notes: String::new(),
                        })
                    },
                ))
            };
            request.disks.iter().map(task).collect()
        });
        (permit, tasks)
    }

    fn request(id: &str) -> Vec<String> {
        let disks = [serde_json::json!({"id": "/dev/sda"})];
        vec![serde_json::json!({"id": id, "depth": "full", "disks": disks}).to_string()]
    }

    struct Agent {
        executor: Executor,
        finished: mpsc::UnboundedReceiver<Finished>,
    }

    impl Agent {
        fn of(tasks: Tasks) -> Self {
            let erasures = Arc::new(Erasures::new(tasks, watch::Sender::default()));
            let step = EraseDisks::new(Devices::of_running_system(), erasures);
            let (sender, finished) = mpsc::unbounded_channel();
            let registry = Arc::new(Registry::new(vec![Arc::new(step)]));
            Self {
                executor: Executor::new(registry, sender),
                finished,
            }
        }

        async fn reply(&mut self, args: Vec<String>) -> StepOutput {
            let step = Step {
                step_type: NAME.name().into(),
                step_id: "erase-disks-00000001".into(),
                args,
            };
            self.executor.start(step, Uuid::nil(), CancellationToken::new());
            let reply = self.finished.recv().await.unwrap().reply;
            StepOutput {
                exit_code: reply.exit_code,
                output: reply.output,
                error: reply.error,
            }
        }

        async fn response(&mut self, id: &str) -> EraseDisksResponse {
            let reply = self.reply(request(id)).await;
            assert_eq!(reply.exit_code, 0, "{reply:?}");
            serde_json::from_str(&reply.output).unwrap()
        }

        /// The response once the erasure is over.
        async fn last(&mut self, id: &str) -> EraseDisksResponse {
            tokio::time::timeout(Duration::from_secs(60), async {
                loop {
                    let response = self.response(id).await;
                    if response.is_over {
                        return response;
                    }
                }
            })
            .await
            .unwrap()
        }
    }

    #[tokio::test]
    async fn requests_of_one_id_return_at_once_and_begin_one_erasure() {
        let (permit, tasks) = gated();
        let mut agent = Agent::of(tasks);
        for _ in 0..3 {
            let response = agent.response("one").await;
            assert!(!response.is_over && response.id == "one", "{response:?}");
        }
        assert_eq!(agent.executor.running(), [NAME], "no other program takes over");
        let refused = agent.reply(request("two")).await;
        assert_eq!(refused.exit_code, -1);
        assert!(
            refused.error.contains("the erasure one is not over (/dev/sda)"),
            "{}",
            refused.error
        );
        permit.send(()).unwrap();
        let last = agent.last("one").await;
        assert_eq!(last.disks[0].state, ErasureState::Erased);
        assert_eq!((last.disks[0].samples, last.disks[0].bytes_done), (7, 1000));
        assert_eq!(agent.last("one").await, last, "and nothing begins again");
    }

    #[tokio::test]
    async fn an_erasure_ends_with_the_registration_and_begins_again_with_the_next_request() {
        let (permit, tasks) = gated();
        let mut agent = Agent::of(tasks);
        agent.response("one").await;
        agent.executor.end();
        permit.send(()).unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while !agent.executor.running().is_empty() {
            assert!(std::time::Instant::now() < until, "it still runs");
            tokio::task::yield_now().await;
        }
        permit.send(()).unwrap();
        let last = agent.last("one").await;
        assert_eq!(last.disks[0].state, ErasureState::Erased, "{last:?}");
    }

    #[tokio::test]
    async fn wrong_arguments_are_refused_while_it_runs_and_while_it_does_not() {
        let (_permit, tasks) = gated();
        let mut agent = Agent::of(tasks);
        let wrong = |reply: StepOutput| {
            assert_eq!(reply.exit_code, -1);
            assert!(reply.error.starts_with("erase-disks"), "{}", reply.error);
        };
        for _ in 0..2 {
            for args in [vec![], vec!["7".to_owned()], request("")] {
                wrong(agent.reply(args).await);
            }
            agent.response("one").await;
        }
    }
}
