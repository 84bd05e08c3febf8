//! Interprets replies to steps. Source: docs/protocol/instructions.md#4 and #5.

mod interpret;
mod json;
mod limits;

pub use interpret::{ignored_because, interpret, step_of};
pub use limits::{BadReply, Limits};
