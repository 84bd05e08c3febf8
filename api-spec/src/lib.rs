//! Types of everything that Muster sends and receives: REST v2, payloads of steps, the configuration inside a discovery image.
//! Nothing here decides anything.
//!
//! They follow the assisted-installer v2 protocol, with the JSON habits of its Go authors: scalars that are zero are left out,
//! absent lists may be `null`. A deployed agent may be older or newer than the service, so these types change by addition.

pub mod agent;
pub mod bmc;
pub mod boot;
pub mod cluster;
pub mod error;
pub mod event;
pub mod fingerprint;
pub mod host;
pub mod host_key;
pub mod ids;
pub mod infra_env;
pub mod inventory;
pub mod live;
pub mod node_agent;
mod serialize;
pub mod steps;
#[cfg(test)]
mod tests;
pub mod time;
pub mod validation;
pub mod versions;

/// The path under which every v2 operation lives.
pub const BASE_PATH: &str = "/api/assisted-install/v2";

/// The path under which the operations live that are no part of the v2 protocol.
pub const MUSTER_PATH: &str = "/api/muster/v1";

/// Name of the header with a sentence for the user beside a good answer; an addition to the protocol. UTF-8.
pub const NOTE_HEADER: &str = "muster-note";

/// Name of the header with the agent's version. The underscores are the protocol's; a proxy that drops such headers costs the
/// version, nothing else.
pub const AGENT_VERSION_HEADER: &str = "discovery_agent_version";

/// Name of the header that carries an agent's token, without any prefix.
pub const AGENT_TOKEN_HEADER: &str = "x-secret-key";

/// Name of the header of an answer with the token that an agent of ours sends from now on, since its own was replaced.
pub const REPLACING_TOKEN_HEADER: &str = "x-muster-replacing-token";
