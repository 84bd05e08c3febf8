//! Media of BMCs: each is one image from its first byte to its last, whatever is changed while a machine reads it.
//!
//! BMCs and firmware read a mounted ISO in ranges, for hours, and check no entity tag. So the URL that a BMC is given names the image
//! that there was then. That is served as long as this process keeps it, also when the InfraEnv or the live image changed since. A process that does not have it,
//! after a restart, makes it again; when what it makes is another by now, it answers nothing.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moka::sync::Cache;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::rules::boot_argument::boot_argument;
use muster_image::ImageBytes;

use crate::discovery_image::DiscoveryImage;
use crate::made_images::ImageForm;

/// Time after the last read until an image of the past is forgotten.
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// Images that are kept. Each has its configuration in memory, at most some 300 KB, and a file open.
const MOST: u64 = 256;

/// An image that is read.
#[derive(Debug, Clone)]
pub struct Medium {
    pub image: DiscoveryImage,
    pub form: ImageForm,
    pub bytes: ImageBytes,
    /// The last change of what it is made of, beside its base.
    pub changed_at: SystemTime,
}

impl Medium {
    /// The medium as one BMC reads it: a kernel argument names that BMC, and comes back in the inventory of the machine that booted it.
    /// Where the image has no room for it, it is the same for all.
    pub fn of_bmc(&self, id: BmcId) -> ImageBytes {
        let argument = boot_argument(id);
        let named = match &self.image {
            DiscoveryImage::Muster(live) => live.image.iso_with_argument(&self.bytes, &argument),
            DiscoveryImage::CoreOs(open) => {
                let is_minimal = self.form == ImageForm::MinimalIso;
                open.image.iso_with_argument(&self.bytes, is_minimal, &argument)
            }
        };
        named.unwrap_or_else(|| self.bytes.clone())
    }
}

/// Those that were served.
pub(crate) struct MountedMedia(pub(crate) Cache<(InfraEnvId, String), Arc<Medium>>);

impl Default for MountedMedia {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(MOST).time_to_idle(IDLE).build())
    }
}
