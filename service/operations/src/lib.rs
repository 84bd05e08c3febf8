//! Implements everything that can be done with hosts, InfraEnvs and clusters: load, decide in `muster-core`, store,
//! notify.
//!
//! REST handlers, controllers and image streams call these operations and map [`OperationError`] to their own
//! responses.

pub mod audit;
pub mod auth;
pub mod bmcs;
pub mod bridge;
pub mod changes;
pub mod clusters;
pub mod disk;
pub mod error;
pub mod events;
pub mod hosts;
pub mod images;
pub mod infra_envs;
pub mod jobs;
mod limits;
pub mod logs;
mod operations;
pub mod owned;
pub mod random;
pub mod records;
pub mod request_id;
pub mod resources;
mod retry;
mod search;
mod service;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
mod troubles;
pub mod urls;

pub use error::{OperationError, unless_missing};
pub use muster_api::time::now;
pub use muster_core::text::chain;
pub use operations::{OperationSettings, Operations};

/// The result of most operations.
pub type Result<T, E = OperationError> = std::result::Result<T, E>;
