//! Chooses the images that a host is discovered with and that is written to its disk, from the operator's list.
//!
//! The list has upstream's form, which names live ISOs, extended by the images for disks. Source:
//! docs/protocol/image-service.md#6.

mod choice;
pub mod cloud_init;
pub mod list;
mod of_host;
mod wished;

pub use choice::{NoImage, check_offered, choose, choose_live, choose_live_by_name};
pub use list::{Availability, BadList, Digest, LiveSource, MAX_NAME, MetalImage, OsImage, Source, parse};
pub use of_host::{Missing, configuration, entry, of_host, shown, unmet_wish};
pub use wished::{architectures, choose_wished, counts, has_image_by};
