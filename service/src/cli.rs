//! Commands that talk to a running service, or to its database; and programs that run for themselves.

pub mod arguments;
pub mod audit;
pub mod bmc;
pub mod cluster;
pub mod config;
pub mod data;
pub mod events;
pub mod failure;
pub mod fleet;
pub mod help;
pub mod host;
pub mod infra_env;
pub mod job;
pub mod kubernetes;
pub mod list;
pub mod manager;
pub mod open;
pub mod output;
pub mod pxe_config;
pub mod search;
pub mod service;
pub mod status;
pub mod token;
pub mod version;
