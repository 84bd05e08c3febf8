//! Describes discovery images as data: the writable areas of an ISO, and the bytes in them.
//!
//! There is no I/O here except the positioned reads of [`read_at::ReadAt`], and no asynchronous code. An image for one InfraEnv is a
//! [`overlay::Plan`]: ranges of the base file, computed bytes and zeros, in order. The contract of the image is `docs/live-image.md`.
//!
//! Reading order: [`live`] opens a base ISO, [`customise`] holds the settings of one InfraEnv, [`overlay`] is the arithmetic.

mod config_archive;
pub mod coreos;
pub mod customise;
mod etag;
pub mod iso9660;
pub mod kargs;
pub mod live;
pub mod newc;
pub mod overlay;
pub mod read_at;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use coreos::{
    CoreOsCustomisation, CoreOsCustomiseError, CoreOsImage, CoreOsImageError, InitrdContent, InitrdFile,
    NoMinimal,
};
pub use customise::{Customisation, CustomiseError, ImageBytes};
pub use live::{LiveImage, LiveImageError};
pub use overlay::{Piece, Plan};
