//! The errors of reading an image.

use std::io;

/// An image cannot be read as ISO 9660.
#[derive(Debug, thiserror::Error)]
pub enum IsoError {
    /// No `CD001` where the volume descriptors should be.
    #[error("it is not an ISO 9660 image")]
    NotAnIso,
    /// The file ends before the volume does.
    #[error("it is truncated: the volume has {expected} bytes, the file {actual}; copy or download it again")]
    Truncated {
        /// Bytes that the volume descriptor promises.
        expected: u64,
        /// Bytes that the file has.
        actual: u64,
    },
    /// A number in the image cannot be true.
    #[error("it is damaged: {what}")]
    Damaged { what: String },
    /// A legal form that this reader does not know.
    #[error("{path} in it is {what}, which is not supported")]
    Unsupported { path: String, what: &'static str },
    #[error("reading it failed")]
    Read(#[from] io::Error),
}

pub(super) fn damaged(what: impl Into<String>) -> IsoError {
    IsoError::Damaged { what: what.into() }
}
