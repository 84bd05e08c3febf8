//! Implements everything that can be done with hosts, InfraEnvs and clusters: load, decide in `muster-core`, store, notify.
//!
//! REST handlers, controllers and image streams call these operations and map [`OperationError`] to their own answers.

pub mod auth;
pub mod base_file;
pub mod bmcs;
pub mod boot;
mod boot_media;
pub mod boot_requests;
pub mod bridge;
pub mod changes;
pub mod check_ins;
pub mod clock;
mod cluster_cache;
pub mod clusters;
pub mod coreos_images;
pub mod discovery_image;
pub mod disk;
pub mod error;
pub mod event_quota;
pub mod hearing;
pub mod hosts;
pub mod image_making;
pub mod image_options;
pub mod infra_envs;
pub mod inventory_quota;
pub mod jobs;
pub mod live_image;
pub mod made_images;
pub mod medium;
pub mod mounted_media;
mod operations;
pub mod os_images;
pub mod random;
mod refused_deletions;
pub mod request_id;
mod retry;
#[cfg(test)]
mod testing;
pub mod urls;
pub mod watch_health;

pub use clock::now;
pub use error::{OperationError, chain, unless_missing};
pub use operations::{OperationSettings, Operations};

/// The result of most operations.
pub type Result<T, E = OperationError> = std::result::Result<T, E>;
