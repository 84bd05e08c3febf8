//! Commands that talk to a running service, or to its database.

pub mod client;
pub mod crds;
pub mod hosts;
pub mod infra_env;
pub mod output;
pub mod table;
pub mod token;
