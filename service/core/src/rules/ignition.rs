//! Writes Ignition: `discovery.ign` for CoreOS live images, and the pointer that installed hosts boot with.
//! Source: docs/protocol/discovery-ignition.md.

mod bootstrap;
pub mod discovery;
mod endpoint;
mod merge;
pub mod node;
mod overrides;
mod size;

pub use bootstrap::{MAX_BOOTSTRAP, check_bootstrap};
pub use discovery::{AgentSettings, DiscoveryError, discovery};
pub(crate) use endpoint::api_vip;
pub use merge::merge;
pub use overrides::check_override;
pub use size::{MAX_ARCHIVE_BYTES, check_size};
