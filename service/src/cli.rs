//! Commands that talk to a running service, or to its database.

pub mod client;
pub mod cluster;
pub mod completion;
pub mod config;
pub mod crds;
pub mod details;
pub mod events;
pub mod failure;
pub mod fleet;
pub mod host;
pub mod infra_env;
pub mod man;
pub mod names;
pub mod output;
pub mod pxe_config;
pub mod ready;
pub mod save;
pub mod service;
pub mod status;
pub mod table;
pub mod tls;
pub mod token;
pub mod unreachable;
pub mod watch;
