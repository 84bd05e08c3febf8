//! Finds an unverified image of the user's.

use muster_api::host::HostFinding;

use super::finding::finding;
use super::kinds::IMAGE_UNVERIFIED;
use crate::record::Host;
use crate::rules::input::image_url;

/// An image by plain HTTP without a digest. Only arguments from the time when that was accepted can name one.
pub(super) fn unverified(host: &Host) -> Option<HostFinding> {
    let message = "The host is installed with an image that comes by plain HTTP, without a digest that verifies it: anyone on the way can send \
                   another system. Append #sha256=DIGEST to --image-url in the installer arguments, or use https://";
    image_url::is_unverified(&host.data.installer_args)
        .then(|| finding(IMAGE_UNVERIFIED, "--image-url", [], message.to_owned()))
}
