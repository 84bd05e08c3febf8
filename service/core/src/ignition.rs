//! `discovery.ign`: what CoreOS live images are told.

pub mod discovery;

pub use discovery::{AgentSettings, DiscoveryError, discovery};
