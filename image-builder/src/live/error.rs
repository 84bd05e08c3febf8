//! Errors of opening a live image.

use super::description::{DESCRIPTION_PATH, FORMAT, VERSION};
use crate::iso9660::IsoError;
use crate::kargs::AreaError;

/// A file cannot serve as live image. The caller adds the file's path.
#[derive(Debug, thiserror::Error)]
pub enum LiveImageError {
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// An ISO of something else.
    #[error(
        "it is not a Muster live image: it has no /{DESCRIPTION_PATH} of format {FORMAT}; make one with `muster-image live build`"
    )]
    NotMuster,
    /// Made by a later program.
    #[error(
        "its format version is {found}, this program understands up to {VERSION}: use a newer muster, or build the image with this release"
    )]
    NewerFormat { found: u32 },
    /// The description is not what its version promises.
    #[error("its /{DESCRIPTION_PATH} is not valid")]
    Description(#[from] serde_json::Error),
    /// A file that the description names is missing.
    #[error("it lacks /{path}, which its /{DESCRIPTION_PATH} names; build it again")]
    Missing { path: String },
    /// Description and content disagree.
    #[error("it is inconsistent: {what}; build it again")]
    Inconsistent { what: String },
}

pub(super) fn inconsistent(what: impl Into<String>) -> LiveImageError {
    LiveImageError::Inconsistent { what: what.into() }
}

impl From<AreaError> for LiveImageError {
    fn from(error: AreaError) -> Self {
        match error {
            AreaError::Iso(error) => Self::Iso(error),
            AreaError::Missing { path } => Self::Missing { path },
            AreaError::Inconsistent(what) => Self::Inconsistent { what },
        }
    }
}
