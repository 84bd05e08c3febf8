//! Commands that talk to a running service, or to its database.

pub mod client;
pub mod crds;
pub mod details;
pub mod failure;
pub mod fleet;
pub mod hosts;
pub mod infra_env;
pub mod names;
pub mod output;
pub mod ready;
pub mod service;
pub mod table;
pub mod tls;
pub mod token;
pub mod unreachable;
