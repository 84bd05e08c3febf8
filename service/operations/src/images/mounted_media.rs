//! Media of BMCs: each is one image from its first byte to its last, whatever changes while a machine reads it.
//!
//! BMCs and firmware read a mounted ISO in ranges, for hours, and check no entity tag. So the URL for a BMC names the
//! image of that time. It is served as long as this process keeps it, even if the InfraEnv or the live image has
//! changed since. A process without it, after a restart, makes it again; if the result is another image by now, the
//! process refuses the request.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moka::sync::Cache;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::rules::boot_argument::boot_argument;
use muster_image::ImageBytes;

use crate::images::cache::ImageForm;
use crate::images::discovery::DiscoveryImage;

/// Time after the last read until an old image is dropped.
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// Most images that are kept. Each has its configuration in memory, at most some 300 KB, and an open file.
const MOST: u64 = 256;

/// An image that is read.
#[derive(Debug, Clone)]
pub struct Medium {
    pub image: DiscoveryImage,
    pub form: ImageForm,
    pub bytes: ImageBytes,
    /// The last change of its parts, except its base.
    pub changed_at: SystemTime,
}

impl Medium {
    /// The medium as one BMC reads it: a kernel argument names that BMC, and is part of the inventory of the booted
    /// machine. If the image has no room for it, the medium is the same for all.
    pub fn of_bmc(&self, id: BmcId) -> ImageBytes {
        self.naming(id).unwrap_or_else(|| self.bytes.clone())
    }

    /// The medium with that argument; `None`: the image has no room for it.
    pub(crate) fn naming(&self, id: BmcId) -> Option<ImageBytes> {
        let argument = boot_argument(id);
        match &self.image {
            DiscoveryImage::Muster(live) => live.image.iso_with_argument(&self.bytes, &argument),
            DiscoveryImage::CoreOs(open) => {
                let is_minimal = self.form == ImageForm::MinimalIso;
                open.image.iso_with_argument(&self.bytes, is_minimal, &argument)
            }
        }
    }
}

/// The served media.
pub(crate) struct MountedMedia(pub(crate) Cache<(InfraEnvId, String), Arc<Medium>>);

impl Default for MountedMedia {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(MOST).time_to_idle(IDLE).build())
    }
}
