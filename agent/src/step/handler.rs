//! The interface of a step: its name, its deadline, and its part of the reply.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
pub use muster_api::steps::StepType;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Exit code of internal errors and invalid arguments.
pub const EXIT_INTERNAL: i64 = -1;
/// Exit code of a step that met its deadline.
pub const EXIT_DEADLINE: i64 = 124;

/// Held while any part of a step runs; a thread that outlives its step's task keeps a clone.
#[derive(Debug)]
pub struct Running;

/// A step's part of its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutput {
    /// 0 for success.
    pub exit_code: i64,
    /// JSON text.
    pub output: String,
    /// Empty for success.
    pub error: String,
}

impl StepOutput {
    /// A success with this output.
    pub fn good(output: String) -> Self {
        Self {
            exit_code: 0,
            output,
            error: String::new(),
        }
    }

    /// A success with this value as JSON.
    pub fn json(answer: &impl Serialize) -> Self {
        match serde_json::to_string(answer) {
            Ok(text) => Self::good(text),
            Err(error) => Self::failed(format!("the answer cannot be written as JSON: {error}")),
        }
    }

    /// The same output with another exit code and error.
    #[must_use]
    pub fn ending(self, exit_code: i64, error: impl Into<String>) -> Self {
        Self {
            exit_code,
            error: error.into(),
            ..self
        }
    }

    /// A failure without output.
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            exit_code: EXIT_INTERNAL,
            output: String::new(),
            error: error.into(),
        }
    }
}

/// A kind of step.
pub trait StepHandler: Send + Sync {
    fn step_type(&self) -> StepType;
    /// After this long, the reply is a failure.
    fn deadline(&self) -> Duration;
    /// The deadline of a step that has one in its arguments.
    fn deadline_for(&self, _args: &[String]) -> Duration {
        self.deadline()
    }
    /// The reply to these arguments while one of the type runs already: by default none, since that one will reply.
    fn when_running(&self, _args: &[String]) -> Option<StepOutput> {
        None
    }
    /// Ends what outlives its reply: the registration under which it was requested is over.
    fn end(&self) {}
    /// Runs the step. Arguments are as the service sent them, not validated.
    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput>;
}

/// The error text of a failed reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StepError(pub String);

impl StepError {
    /// The text `<step>: <reason>`.
    pub(crate) fn of(step: StepType, reason: impl Display) -> Self {
        Self(format!("{}: {reason}", step.name()))
    }
}

/// Boxes a step's work: holds `running` until its end, and turns its error into a failed reply.
pub(crate) fn reply(
    running: Arc<Running>,
    work: impl Future<Output = Result<StepOutput, StepError>> + Send + 'static,
) -> BoxFuture<'static, StepOutput> {
    async move {
        let _running = running;
        work.await
            .unwrap_or_else(|StepError(text)| StepOutput::failed(text))
    }
    .boxed()
}

/// Parses the one argument of most steps, a JSON text.
///
/// # Errors
/// Fails for another number of arguments, or for JSON that is not of this step.
pub(crate) fn one_argument<T: DeserializeOwned>(step: StepType, args: &[String]) -> Result<T, StepError> {
    match args {
        [text] => serde_json::from_str(text).map_err(|error| StepError::of(step, error)),
        _ => {
            let (name, number) = (step.name(), args.len());
            Err(StepError(format!("{name} takes one argument, not {number}")))
        }
    }
}
