//! What a host's answer to a step means. Source: instructions.md §4 and §5.
use super::HostEvent;
use muster_api::steps::{StepReply, StepType};
use thiserror::Error;

/// How much a reply may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of `output`.
    pub output_bytes: usize,
    /// Levels of nested JSON.
    pub depth: usize,
    /// Bytes of one text.
    pub text_bytes: usize,
    /// Disks of an inventory.
    pub disks: usize,
    /// Network interfaces of an inventory.
    pub interfaces: usize,
    /// Routes of an inventory.
    pub routes: usize,
    /// GPUs of an inventory.
    pub gpus: usize,
    /// Entries of any other list.
    pub list: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 16 << 20,
            depth: 32,
            text_bytes: 256 << 10,
            disks: 2000,
            interfaces: 1024,
            routes: 4096,
            gpus: 1024,
            list: 4096,
        }
    }
}

/// A reply that cannot be used (400). The message says what is wrong with which part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadReply {
    #[error("step_type is missing: say which step this is the reply to")]
    NoStepType,
    #[error("the output of {step} is not JSON of the expected form: {problem}")]
    NotUnderstood { step: &'static str, problem: String },
    #[error("the output of {step} has too many {what}: {found}, and at most {limit} are taken")]
    TooMuch {
        step: &'static str,
        what: String,
        found: usize,
        limit: usize,
    },
}

/// What happened to the host, by its reply; empty when nothing did (see [`ignored_because`]).
///
/// # Errors
/// When the output is too large or not what the step answers.
pub fn interpret(reply: &StepReply, limits: &Limits) -> Result<Vec<HostEvent>, BadReply> {
    let _ = (reply, limits);
    todo!()
}

/// Why a reply has no effect, for the debug log; `None` when it has one.
pub fn ignored_because(step: StepType, exit_code: i64) -> Option<&'static str> {
    let _ = (step, exit_code);
    todo!()
}
