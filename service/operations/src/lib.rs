//! Implements everything that can be done with hosts, InfraEnvs and clusters: load, decide in `muster-core`, store,
//! notify.
//!
//! REST handlers, controllers and image streams call these operations and map [`OperationError`] to their own
//! responses.

mod access;
pub mod audit;
pub mod bmcs;
pub mod clusters;
mod custom_resources;
pub mod disk;
pub mod error;
pub mod host_jobs;
pub mod hosts;
pub mod images;
pub mod infra_envs;
pub mod jobs;
mod journal;
mod limits;
pub mod node_pools;
mod operations;
pub mod records;
mod retry;
mod search;
mod service;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
mod troubles;

pub use access::{auth, random, urls};
pub use custom_resources::{bridge, owned, resources};
pub use error::{OperationError, unless_missing};
pub use journal::{changes, events, logs, request_id};
pub use muster_api::time::now;
pub use muster_core::text::chain;
pub use operations::{OperationSettings, Operations};

/// The result of most operations.
pub type Result<T, E = OperationError> = std::result::Result<T, E>;
