//! Finds files in an ISO 9660 image: their place in it, not their bytes.
//!
//! From ECMA-119 (4th edition): primary volume descriptor (8.4), directory records (9.1). Names are those of
//! Rock Ridge (`NM` of the Rock Ridge Interchange Protocol 1.12, with continuation areas) where
//! present, otherwise the plain ones, compared without version and case.
//! Not supported: Joliet, UDF, interleaved files, files of several extents (over 4 GiB).
//!
//! The published readers (`cdfs`, `iso9660`, `iso9660-rs`) give bytes, hide the extents or trust the lengths
//! in the image. Here every number is checked before it is used, since an operator may name any file.

mod directory;
mod error;
mod extent;
mod image;
#[cfg(test)]
mod tests;

pub use error::IsoError;
pub use extent::{Extent, SECTOR};
pub use image::Iso;
