//! `discovery.ign`: what CoreOS live images are told. Source: docs/protocol/discovery-ignition.md.

pub mod discovery;
mod merge;
pub mod node;
mod overrides;
mod size;

pub use discovery::{AgentSettings, DiscoveryError, discovery};
pub use merge::merge;
pub use overrides::check_override;
pub use size::{MAX_ARCHIVE_BYTES, check_size};
