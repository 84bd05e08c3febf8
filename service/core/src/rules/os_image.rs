//! Chooses the image that is written to a host's disk, from the operator's list.
//!
//! The list has upstream's form with what is written to disks beside it. Source: docs/protocol/image-service.md#6.

mod choice;
pub mod list;
mod of_host;

pub use choice::{NoImage, check_offered, choose};
pub use list::{Availability, BadList, Digest, MetalImage, OsImage, Source, parse};
pub use of_host::{Missing, entry, of_host};
