//! What every controller of a kind is made of:
//!
//! - [`watch`]: kube's `Controller` over objects that are decoded one by one; watches whose failures are reported
//! - [`debounce`]: merges triggers that are repeated
//! - [`own_writes`]: own writes of statuses trigger nothing when a watch shows them
//! - [`drive`]: deadline of a reconcile, growing retries, a fresh object after a conflict, metrics
//! - [`Context`]: a client with a deadline for each request, namespaces, Events, waits
//! - [`Error`], [`error::Failure`]: how to continue after a failure: a retry, or waiting for a change of the object
//! - [`conditions`], [`status`]: conditions, and the one way to write a status; changes become Kubernetes Events
//! - [`health`]: the two conditions that generic programs read
//! - [`unreadable`]: the condition of an object that cannot be read
//! - [`waits`]: what objects wait for, which becomes Kubernetes Events when it takes longer than a minute
//! - [`lease`], [`lease::held`]: the rules by which replicas hold a Lease, and a Lease that is held by them
//! - [`rights`]: whether this program may make a request
//! - [`writes`], [`merge_patch`], [`finalizers`], [`references`], [`secrets`], [`retry`], [`times`]: parameters of writes, differences,
//!   finalizers, owners and names, values that objects refer to, intervals, times
//!
//! It sees no records of the service: crates above it do.

pub mod conditions;
pub mod context;
pub mod digest;
pub mod drive;
pub mod error;
pub mod events;
pub mod finalizers;
pub mod health;
pub mod lease;
pub mod merge_patch;
pub mod references;
pub mod retry;
mod scope;
pub mod secrets;
pub mod status;
pub mod times;
pub mod waits;
mod watching;
pub mod writes;

pub use context::Context;
pub use error::Error;
pub use scope::{kinds, namespaces, rights};
pub use watching::{debounce, own_writes, unreadable, watch, watches};
