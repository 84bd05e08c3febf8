//! Collects a host's logs: a gzipped tar archive, made while it is sent. Source of names and order:
//! docs/protocol/agent-protocol.md#8. Every file is capped, and secrets are removed from every text.

pub mod archive;
mod network;
mod redact;
pub mod ring;
mod storage;
pub(crate) mod upload;
mod usage;

pub use redact::Redactor;
