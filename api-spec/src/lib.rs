//! Types of everything that Muster sends and receives: REST v2, payloads of steps, the configuration inside a discovery image.
//! No decisions are made here.
//!
//! They follow the assisted-installer v2 protocol, with the JSON habits of its Go authors: scalars that are zero are left out,
//! absent lists may be `null`. A deployed agent may be older or newer than the service, so these types change by addition.

pub mod agent;
pub mod audit;
pub mod bmc;
pub mod boot;
pub mod cluster;
mod configuration;
pub mod error;
pub mod event;
pub mod host;
pub mod ids;
pub mod infra_env;
pub mod inventory;
pub mod jobs;
mod machine;
mod overview;
mod serialize;
pub mod service;
pub mod steps;
#[cfg(test)]
mod tests;
pub mod time;
pub mod validation;
pub mod versions;
pub mod words;

pub use configuration::{live, node_agent};
pub use machine::{fingerprint, host_key, placeholder};
pub use overview::{changes, connectivity, links, node_pools, search, session, troubles};

/// The path of every v2 operation.
pub const BASE_PATH: &str = "/api/assisted-install/v2";

/// The path of the operations that are not part of the v2 protocol.
pub const MUSTER_PATH: &str = "/api/muster/v1";

/// Name of the header with the agent's version. The underscores are the protocol's; a proxy that drops such headers only loses the
/// version.
pub const AGENT_VERSION_HEADER: &str = "discovery_agent_version";

/// Name of the header that carries an agent's token, without any prefix.
pub const AGENT_TOKEN_HEADER: &str = "x-secret-key";

/// Name of the response header with the token that an agent of ours sends from now on, because its own was replaced.
pub const REPLACING_TOKEN_HEADER: &str = "x-muster-replacing-token";
