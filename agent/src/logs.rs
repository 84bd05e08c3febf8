//! What a host sends when it is asked for its logs: a gzipped tar archive, made while it is sent.
//! Source of names and order: docs/protocol/agent-protocol.md#8. Every file is capped, and every text scrubbed of what is secret.

pub mod archive;
mod kernel;
mod network;
mod redact;
pub mod ring;
mod storage;

pub use redact::Redactor;
