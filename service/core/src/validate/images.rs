//! Container images.

use super::{Look, Verdict};

/// `container-images-available`: no image is known to be missing. Hosts of the pool are not asked to pull any.
pub(super) fn available(_look: &Look<'_>) -> Verdict {
    Verdict::Success("No container image is known to be missing".into())
}
