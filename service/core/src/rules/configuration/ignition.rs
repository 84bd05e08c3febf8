//! Writes Ignition: `discovery.ign` for CoreOS live images, and the pointer that installed hosts boot with.
//! Source: docs/protocol/discovery-ignition.md.

mod agent_unit;
mod bootstrap;
pub mod discovery;
mod endpoint;
mod network_files;
pub mod node;
mod overrides;
mod size;

pub use agent_unit::{AgentProgram, no_agent};
pub use bootstrap::{check_bootstrap, check_bootstrap_form, unfit_bootstrap};
pub use discovery::{AgentSettings, DiscoveryError, discovery};
pub(crate) use endpoint::api_vip;
pub use network_files::{GuestFile, UNIT as NETWORK_UNIT, connection_files, network_files, network_unit};
pub use overrides::{check_known, check_override};
pub use size::{MAX_ARCHIVE_BYTES, check_size};
