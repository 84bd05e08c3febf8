//! Runs steps, each in a task of its own, with a deadline, one of a type at a time, and always with a reply.
//! A panic in a step fails that step only.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use muster_api::steps::{Step, StepReply};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use uuid::Uuid;

use super::steps::Registry;
use crate::step::{EXIT_DEADLINE, Running, StepOutput, StepType};

/// A reply on its way to the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The step's type as the service wrote it.
    pub step_type: String,
    /// The reply without the type, which [`Finished::step_type`] holds.
    pub reply: StepReply,
    /// The request id of the poll that brought the step.
    pub request_id: Uuid,
}

impl Finished {
    /// The reply as sent, with the type as the service wrote it.
    pub fn body(&self) -> serde_json::Value {
        let mut body = serde_json::to_value(&self.reply).unwrap_or_default();
        if let Some(members) = body.as_object_mut() {
            members.insert("step_type".to_owned(), self.step_type.clone().into());
        }
        body
    }
}

/// Starts steps and queues their replies.
#[derive(Clone)]
pub struct Executor {
    registry: Arc<Registry>,
    running: Arc<Mutex<HashMap<StepType, RunningStep>>>,
    finished: mpsc::UnboundedSender<Finished>,
}

struct RunningStep {
    deadline: Instant,
    /// Dead once nothing of the step runs any more, threads included.
    alive: std::sync::Weak<Running>,
}

enum Admission {
    Go(Arc<Running>),
    AlreadyRunning,
    Stuck,
}

impl Executor {
    /// Replies go to `finished`.
    pub fn new(registry: Arc<Registry>, finished: mpsc::UnboundedSender<Finished>) -> Self {
        Self {
            registry,
            running: Arc::default(),
            finished,
        }
    }

    /// Starts a step and returns. Cancelling `session` ends it without a reply.
    pub fn start(&self, step: Step, request_id: Uuid, session: CancellationToken) {
        let executor = self.clone();
        tokio::spawn(async move {
            let Some(output) = executor.run(&step, session).await else {
                return;
            };
            let reply = StepReply {
                step_type: None,
                step_id: step.step_id,
                exit_code: output.exit_code,
                output: output.output,
                error: output.error,
            };
            // The receiver is gone when the program ends.
            let _ = executor.finished.send(Finished {
                step_type: step.step_type,
                reply,
                request_id,
            });
        });
    }

    /// Ends what steps of the present registration left running in the background.
    pub fn end(&self) {
        self.registry.end();
    }

    /// The running types.
    pub fn running(&self) -> Vec<StepType> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running
            .iter()
            .filter(|(_, step)| step.alive.strong_count() > 0)
            .map(|(step, _)| *step)
            .collect()
    }

    async fn run(&self, step: &Step, session: CancellationToken) -> Option<StepOutput> {
        let Some((step_type, handler)) = self.registry.get(&step.step_type) else {
            warn!(
                step = step.step_type,
                "the service requests a step that this agent does not have"
            );
            return Some(StepOutput::failed(format!(
                "failed to find action for step type {}",
                step.step_type
            )));
        };
        let name = step_type.name();
        let limit = catch_unwind(AssertUnwindSafe(|| handler.deadline_for(&step.args)))
            .unwrap_or_else(|_| handler.deadline());
        let deadline = Instant::now() + limit;
        let alive = match self.admit(step_type, deadline) {
            Admission::Go(alive) => alive,
            // The running one will reply.
            Admission::AlreadyRunning => {
                info!(step = name, id = step.step_id, "runs already");
                return handler.when_running(&step.args);
            }
            Admission::Stuck => {
                return Some(StepOutput::failed(format!(
                    "an earlier {name} step has still not ended"
                )));
            }
        };
        info!(step = name, id = step.step_id, "step starts");
        let began = Instant::now();
        let args = step.args.clone();
        let mut task = tokio::spawn(async move { handler.run(args, alive).await });
        let output = tokio::select! {
            () = session.cancelled() => {
                task.abort();
                info!(step = name, "step ended with its session");
                return None;
            }
            ended = &mut task => match ended {
                Ok(output) => output,
                Err(error) => StepOutput::failed(format!("the {name} step broke: {}", panic_text(error))),
            },
            () = tokio::time::sleep_until(deadline) => {
                task.abort();
                StepOutput {
                    exit_code: EXIT_DEADLINE,
                    output: String::new(),
                    error: format!("the {name} step did not end within {} s", limit.as_secs()),
                }
            }
        };
        let took = began.elapsed().as_millis();
        if output.exit_code == 0 {
            info!(step = name, took_ms = took, "step done");
        } else {
            warn!(
                step = name,
                took_ms = took,
                exit_code = output.exit_code,
                error = output.error,
                "step failed"
            );
        }
        Some(output)
    }

    fn admit(&self, step_type: StepType, deadline: Instant) -> Admission {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = running.get(&step_type)
            && earlier.alive.strong_count() > 0
        {
            let overdue = Instant::now() >= earlier.deadline;
            return if overdue {
                Admission::Stuck
            } else {
                Admission::AlreadyRunning
            };
        }
        let alive = Arc::new(Running);
        running.insert(
            step_type,
            RunningStep {
                deadline,
                alive: Arc::downgrade(&alive),
            },
        );
        Admission::Go(alive)
    }
}

fn panic_text(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without text".to_owned()),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
#[path = "executor_tests.rs"]
mod tests;
