//! The custom-resource bridge: reconciles objects of a Kubernetes API with the records of the service.
//!
//! One controller for each kind, each a file here with a folder of the same name: pure `desired` and `status`, and
//! `reconcile`, which accesses the API and the database. All of them use [`kube::Client`], with a real
//! API server or with the built-in one in this process. They run in the replica that leads ([`lead`]); changes
//! of the database reach them through [`Changes`](muster_operations::changes::Changes). On start
//! each reconciles everything, so that nothing depends on what was published before.
//!
//! What controllers are made of is [`muster_controller`]; [`muster_cluster_api`] and [`muster_metal3`] are controllers that change no record,
//! [`muster_workload`] has clients of the clusters that hosts become nodes of. [`bridge`] starts all of them.

pub mod agent;
pub mod agent_classification;
pub mod agent_cluster_install;
pub mod agent_labels;
mod announced;
pub mod bmc;
pub mod bridge;
pub mod cluster_deployment;
pub mod context;
pub mod error;
pub mod foreign_references;
pub mod infra_env;
pub mod join;
pub mod lead;
mod looks;
pub mod manager;
mod metal3_records;
pub mod mirror;
pub mod node_pools;
mod offered_images;
#[cfg(test)]
mod recorded;
pub mod rivals;
pub mod run;

pub use context::Context;
pub use error::Error;
