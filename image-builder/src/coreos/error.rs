//! Errors of opening an image of CoreOS.

use crate::iso9660::IsoError;
use crate::kargs::AreaError;

/// A file cannot serve as CoreOS live image. The caller adds the file's path.
#[derive(Debug, thiserror::Error)]
pub enum CoreOsImageError {
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// An ISO of something else.
    #[error(
        "it is not a CoreOS live image: it has neither /coreos/igninfo.json nor /images/ignition.img nor the header of images before 2022"
    )]
    NotCoreOs,
    /// A file that every such image has is missing.
    #[error("it lacks /{path}; download it again")]
    Missing { path: String },
    /// A description in it cannot be read.
    #[error("its /{path} is not valid")]
    Description {
        path: &'static str,
        source: serde_json::Error,
    },
    /// Description and content disagree.
    #[error("it is inconsistent: {what}; take the image as it was published")]
    Inconsistent { what: String },
}

/// The image has no minimal form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoMinimal {
    /// Made before there were recipes, or for an architecture without.
    #[error(
        "the CoreOS image holds no recipe for a minimal ISO (/coreos/miniso.dat); use the image type full-iso"
    )]
    NoRecipe,
    /// Holds the reason.
    #[error("the CoreOS image's recipe for a minimal ISO cannot be used: {0}; use the image type full-iso")]
    Unusable(String),
}

pub(super) fn inconsistent(what: impl Into<String>) -> CoreOsImageError {
    CoreOsImageError::Inconsistent { what: what.into() }
}

impl From<AreaError> for CoreOsImageError {
    fn from(error: AreaError) -> Self {
        match error {
            AreaError::Iso(error) => Self::Iso(error),
            AreaError::Missing { path } => Self::Missing { path },
            AreaError::Inconsistent(what) => Self::Inconsistent { what },
        }
    }
}
