//! Commands that talk to a running service, or to its database.

pub mod archive;
pub mod backup;
pub mod bmc;
pub mod cluster;
pub mod completion;
pub mod config;
pub mod crds;
pub mod csv_table;
pub mod data;
pub mod events;
pub mod failure;
pub mod fleet;
pub mod host;
pub mod infra_env;
#[cfg(test)]
mod killed;
pub mod kubeconfig;
pub mod list;
pub mod man;
pub mod migrate;
pub mod names;
pub mod new_name;
pub mod openshift_version;
pub mod output;
pub mod part;
pub mod pxe_config;
pub mod restore;
pub mod secrets_key;
pub mod service;
pub mod status;
pub mod tips;
pub mod token;
pub mod twins;
pub mod uninstall;
pub mod version;
