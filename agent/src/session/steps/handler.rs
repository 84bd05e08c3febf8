//! The interface of a step: its name, its deadline, and the parts of a reply that are its own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Exit code of internal errors and invalid arguments.
pub const EXIT_INTERNAL: i64 = -1;
/// Exit code of a step that met its deadline.
pub const EXIT_DEADLINE: i64 = 124;

/// A step's name on the wire.
pub type StepType = &'static str;

/// Held while anything of a step runs; a thread that outlives its step's task keeps a clone.
#[derive(Debug)]
pub struct Running;

/// What a step gives: the parts of a reply that are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutput {
    /// 0 when it went well.
    pub exit_code: i64,
    /// JSON text.
    pub output: String,
    /// What went wrong.
    pub error: String,
}

impl StepOutput {
    /// It went well.
    pub fn good(output: String) -> Self {
        Self {
            exit_code: 0,
            output,
            error: String::new(),
        }
    }

    /// It went well, and this is the answer.
    pub fn json(answer: &impl Serialize) -> Self {
        match serde_json::to_string(answer) {
            Ok(text) => Self::good(text),
            Err(error) => Self::failed(format!("the answer cannot be written as JSON: {error}")),
        }
    }

    /// The same answer with another ending.
    #[must_use]
    pub fn ending(self, exit_code: i64, error: impl Into<String>) -> Self {
        Self {
            exit_code,
            error: error.into(),
            ..self
        }
    }

    /// It could not be done.
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            exit_code: EXIT_INTERNAL,
            output: String::new(),
            error: error.into(),
        }
    }
}

/// One kind of step.
pub trait StepHandler: Send + Sync {
    /// Its name on the wire.
    fn step_type(&self) -> StepType;
    /// After this long it is answered for.
    fn deadline(&self) -> Duration;
    /// The same for a step whose arguments say how long it may take.
    fn deadline_for(&self, _args: &[String]) -> Duration {
        self.deadline()
    }
    /// What is replied when one of the type runs already: mostly nothing, for that one will answer.
    fn when_running(&self) -> Option<StepOutput> {
        None
    }
    /// Does it. Arguments are as the service sent them, not yet checked.
    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput>;
}

/// The one argument of most steps: JSON text.
///
/// # Errors
/// Another number of arguments, or JSON that is not of this step.
pub(crate) fn one_argument<T: DeserializeOwned>(step: StepType, args: &[String]) -> Result<T, String> {
    match args {
        [text] => serde_json::from_str(text).map_err(|error| format!("{step}: {error}")),
        _ => Err(format!("{step} takes one argument, not {}", args.len())),
    }
}
