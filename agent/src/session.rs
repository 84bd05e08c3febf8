//! The conversation with a service: register, poll for instructions, run steps, reply.
//! Source: docs/protocol/agent-protocol.md#2-4, docs/protocol/agent-lessons.md#4.
//!
//! What happens next is decided by [`machine`], which does nothing else; [`runner`] carries it out.

pub mod client;
pub mod devices;
pub mod executor;
pub mod machine;
pub mod replies;
pub mod runner;
pub mod steps;
pub mod trust;
pub mod view;
