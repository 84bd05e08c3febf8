//! The session with a service: registers, polls for instructions, runs steps, replies. Source:
//! docs/protocol/agent-protocol.md#2 to #4, docs/protocol/agent-lessons.md#4.
//!
//! [`machine`] decides and does no I/O; [`runner`] carries its decisions out.

pub mod executor;
pub mod machine;
pub mod node;
pub mod replies;
pub mod runner;
pub mod steps;
