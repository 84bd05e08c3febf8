//! Opens the live images of CoreOS and describes what is made of them for one InfraEnv: nothing is rebuilt, only the areas that
//! the images reserve are written. Source: docs/protocol/image-service.md#8.
//!
//! Three generations differ in where the places of the areas are recorded: a header before the first volume descriptor, that header with
//! another for kernel arguments, and JSON files.

mod archive;
mod areas;
mod customise;
mod error;
mod minimal;
mod open;
mod s390x;
#[cfg(test)]
mod tests;

pub use archive::{InitrdContent, InitrdFile};
pub use customise::{CoreOsCustomisation, CoreOsCustomiseError};
pub use error::{CoreOsImageError, NoMinimal};
pub use open::CoreOsImage;
