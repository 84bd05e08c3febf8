//! Limits for replies, and the errors of replies that cannot be used.

use thiserror::Error;

/// Limits for one reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of `output`.
    pub output_bytes: usize,
    /// Levels of nested JSON.
    pub depth: usize,
    /// Objects, lists and members in all. An inventory of 2000 disks has some 60,000.
    pub values: usize,
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
            values: 300_000,
            text_bytes: 256 << 10,
            disks: 2000,
            interfaces: 1024,
            routes: 4096,
            gpus: 1024,
            list: 4096,
        }
    }
}

/// A reply that cannot be used (400). The message names the faulty part and the fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadReply {
    #[error("step_type is missing: name the step that this is the reply to")]
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
