//! Finds, makes and keeps what machines boot: live images, CoreOS images, boot scripts, and the media of BMCs.

pub mod base_file;
pub mod bmc_medium;
pub(crate) mod boot_digests;
pub mod boot_requests;
pub mod boot_scripts;
pub mod cache;
pub mod coreos;
pub mod discovery;
mod error;
pub mod live;
pub mod make;
pub mod mounted_media;
pub mod options;
pub mod os;

pub use error::ImageError;
