//! Checks container images.

use muster_api::steps::{ContainerImageAvailability, ContainerImageAvailabilityResult};

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::Verdict;

/// Slower than this counts as unavailable, MB a second.
const LEAST_RATE: f64 = 0.001;

/// `container-images-available`: no image is known to be missing.
pub(in crate::rules::checks) fn available(context: &CheckContext<'_>) -> Verdict {
    let tried = &context.host.data.images_status;
    let bad: Vec<&str> = tried
        .iter()
        .filter(|(_, image)| is_bad(image))
        .map(|(name, _)| name.as_str())
        .collect();
    if !bad.is_empty() {
        return Verdict::Failure(format!(
            "The host cannot get these images: {}; check that it reaches the registry, the pull secret, proxy and mirrors",
            bad.join(", ")
        ));
    }
    Verdict::success(if tried.is_empty() {
        "No container image is known to be missing"
    } else {
        "The host can get all container images"
    })
}

fn is_bad(image: &ContainerImageAvailability) -> bool {
    image.result == Some(ContainerImageAvailabilityResult::Failure)
        || (image.size_bytes > 0.0 && image.download_rate < LEAST_RATE)
}
