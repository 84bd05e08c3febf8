//! Files that are no images to be used.

use std::io;
use std::path::PathBuf;

use muster_api::steps::TO_RAW;
use muster_image::CoreOsImageError;

use crate::chain;

/// The reason why the file of an image must not be used, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    #[error("it is not a file with content")]
    Empty,
    /// With the name of the format.
    #[error("it is {0}, for virtual machines; {remedy}, and name that in the list", remedy = TO_RAW)]
    OfVirtualMachines(&'static str),
    #[error(
        "{what} has the SHA-256 {found}, and the list names {wanted}; download it again, or correct the list"
    )]
    OtherDigest {
        /// The file or its content.
        what: &'static str,
        found: String,
        wanted: String,
    },
    #[error("{}: {source}", .path.display())]
    Unopened { path: PathBuf, source: io::Error },
    #[error("{}", chain(.0))]
    NotCoreOs(CoreOsImageError),
    #[error("it cannot be renamed: {0}")]
    NotRenamed(#[source] io::Error),
}
