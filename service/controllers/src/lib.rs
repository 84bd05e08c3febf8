//! The custom-resource bridge: reconciles objects of a Kubernetes API with the records of the service.
//!
//! One controller a kind, each a file here with a folder beside it: pure `desired` and `status`, and
//! `reconcile`, which talks to the API and the database. All of them talk through [`kube::Client`], to a real
//! API server or to the built-in one in this process. They run in the replica that leads ([`lead`]); what
//! changed in the database reaches them through [`Changes`](muster_operations::changes::Changes). On start
//! each reconciles everything, so that nothing depends on what was published before.
//!
//! What every controller is made of:
//!
//! - [`watch`]: kube's `Controller` over objects that are decoded one by one; watches whose failures are seen
//! - [`gather`]: triggers that come often, once
//! - [`echoes`]: own statuses that come back by a watch trigger nothing
//! - [`drive`]: deadline of a reconcile, growing retries, a fresh object after a conflict, metrics
//! - [`Context`]: a client with a deadline for each request, operations, changes of the database, Events
//! - [`Error`], [`error::Refusal`]: what follows a failure, a retry or waiting for the object's writer
//! - [`conditions`], [`status`]: conditions, and the one way to write a status; changes become Kubernetes Events
//! - [`unreadable`]: the condition of an object that cannot be read
//! - [`waits`]: what objects wait for, which becomes Kubernetes Events when it takes longer than a minute
//! - [`workload`]: clients of the clusters that hosts become nodes of
//! - [`writes`], [`finalizers`], [`references`], [`secrets`], [`retry`]: parameters of writes, finalizers, owners
//!   and names, values that objects refer to, intervals

pub mod agent;
pub mod agent_classification;
pub mod agent_cluster_install;
pub mod agent_labels;
mod announced;
pub mod bmc;
pub mod bridge;
pub mod capi;
pub mod cluster_deployment;
pub mod conditions;
pub mod context;
pub mod drive;
pub mod echoes;
pub mod error;
pub mod events;
pub mod finalizers;
pub mod gather;
pub mod infra_env;
pub mod join;
pub mod kinds;
pub mod lead;
pub mod lease;
pub mod metal3;
pub mod mirror;
pub mod namespaces;
pub mod node_settings;
pub mod nodepool;
#[cfg(test)]
mod recorded;
pub mod references;
pub mod retry;
pub mod rivals;
pub mod run;
pub mod secrets;
pub mod status;
pub mod unreadable;
pub mod waits;
pub mod watch;
pub mod workload;
pub mod writes;

pub use context::Context;
pub use error::Error;
