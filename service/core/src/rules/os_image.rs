//! Chooses the image that is written to a host's disk, and the one that it is discovered with, from the operator's list.
//!
//! The list has upstream's form, which names live ISOs, with what is written to disks beside it. Source: docs/protocol/image-service.md#6.

mod choice;
pub mod list;
mod of_host;

pub use choice::{NoImage, check_offered, choose, choose_live, choose_live_by_name};
pub use list::{Availability, BadList, Digest, LiveSource, MetalImage, OsImage, Source, parse};
pub use of_host::{Missing, entry, of_host};
