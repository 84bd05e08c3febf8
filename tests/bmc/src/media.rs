//! Virtual drives and their contents (docs/protocol/redfish.md#2.6).

use std::collections::BTreeMap;
use std::time::Instant;

use crate::quirks::Quirks;

/// The state of all virtual drives, by id.
#[derive(Debug, Default)]
pub(crate) struct Media(BTreeMap<String, Drive>);

#[derive(Debug, Clone, Default)]
struct Drive {
    image: Option<Image>,
    /// An image that was ejected and is still shown.
    kept: Option<Image>,
    /// The time until which the ejected image is shown as inserted.
    stale_until: Option<Instant>,
}

/// An image, as it was inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) url: String,
    pub(crate) write_protected: bool,
}

impl From<&str> for Image {
    fn from(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            write_protected: true,
        }
    }
}

/// A drive as a client sees it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) image: Option<Image>,
    pub(crate) inserted: bool,
}

impl Media {
    /// The image that is really in that drive.
    pub(crate) fn image(&self, drive: &str) -> Option<&Image> {
        self.0.get(drive)?.image.as_ref()
    }

    /// The image in any drive.
    pub(crate) fn any(&self) -> Option<&Image> {
        self.0.values().find_map(|drive| drive.image.as_ref())
    }

    pub(crate) fn shown(&self, drive: &str, quirks: &Quirks, now: Instant) -> Shown {
        let Some(drive) = self.0.get(drive) else {
            return Shown::default();
        };
        let is_stale = drive.stale_until.is_some_and(|until| now < until);
        if quirks.hides_media {
            Shown::default()
        } else if drive.image.is_some() {
            Shown {
                image: drive.image.clone(),
                inserted: true,
            }
        } else {
            Shown {
                image: drive.kept.clone().filter(|_| is_stale || quirks.keeps_image),
                inserted: is_stale && drive.kept.is_some(),
            }
        }
    }

    pub(crate) fn insert(&mut self, drive: &str, image: Image) {
        let drive = self.0.entry(drive.to_owned()).or_default();
        *drive = Drive {
            image: Some(image),
            ..Drive::default()
        };
    }

    pub(crate) fn eject(&mut self, drive: &str, quirks: &Quirks, now: Instant) {
        let drive = self.0.entry(drive.to_owned()).or_default();
        if let Some(image) = drive.image.take() {
            drive.kept = Some(image);
            drive.stale_until = Some(now + quirks.stale_inserted);
        }
    }
}
