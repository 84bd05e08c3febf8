//! The reasons why an image did not reach the disk.

use std::io;

use muster_api::steps::ImageFormat;

/// An image that was not written.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("`{0}` is no http(s) URL and no path on the service")]
    Url(String),
    #[error("{place} cannot be downloaded: {reason}")]
    Download {
        /// Without its query, which may hold a secret.
        place: String,
        reason: String,
    },
    /// The server has another file now than at the start of the download.
    #[error("{place} changed while it was downloaded")]
    Changed { place: String },
    /// The connection ended, and no entity tag, time of change or digest can show that the rest belongs to the bytes that are
    /// there.
    #[error(
        "the connection to {place} ended after {at} bytes, and nothing shows that its rest is of the same file"
    )]
    Unresumable { place: String, at: u64 },
    #[error("{place} cannot be read: {source}")]
    Read { place: String, source: io::Error },
    #[error("the image is declared as {declared} and is {found}")]
    Format {
        declared: ImageFormat,
        found: ImageFormat,
    },
    #[error("the image cannot be decompressed ({format}): {reason}")]
    Decode { format: ImageFormat, reason: String },
    #[error("the image is no image of a bootable disk: {0}")]
    NoDiskImage(String),
    /// It needs a partition for cloud-init, or cannot be started on this machine.
    #[error("the image cannot be installed here: {0}")]
    Unfit(String),
    #[error("the image's SHA-256 ({of}) is {found}, and {expected} is expected")]
    Digest {
        /// The file as stored, or its decompressed content.
        of: &'static str,
        found: String,
        expected: String,
    },
    #[error("the image has {found} bytes, and {expected} are expected")]
    Size { found: u64, expected: u64 },
    /// The file ended early, or is no whole image.
    #[error("the image ends after {found} bytes, and its partitions need {needed}")]
    Short { found: u64, needed: u64 },
    #[error("the disk is too small: it has {disk} bytes, the image {image}")]
    TooSmall {
        disk: u64,
        /// Size of the image as far as known, with a unit.
        image: String,
    },
    #[error("the disk cannot be {what} at byte {at}: {source}{}", gone(*.disk_gone))]
    Disk {
        /// `written` or `read`.
        what: &'static str,
        at: u64,
        source: io::Error,
        disk_gone: bool,
    },
    #[error(
        "the disk gives back other bytes than were written, between {from} and {to}: it is broken, or something else writes to it"
    )]
    Differs { from: u64, to: u64 },
    #[error("{0}")]
    Prepare(#[from] super::super::error::InstallError),
    #[error("the image was not written within {0} s")]
    Deadline(u64),
    #[error("a part of the installer broke: {0}")]
    Broken(String),
    #[error("the installation was stopped")]
    Stopped,
}

fn gone(disk_gone: bool) -> &'static str {
    if disk_gone {
        " (the disk has disappeared)"
    } else {
        ""
    }
}

impl ImageError {
    /// True when another attempt from the start may succeed.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Changed { .. }
            | Self::Unresumable { .. }
            | Self::Digest { .. }
            | Self::Decode { .. }
            | Self::Short { .. }
            | Self::Differs { .. } => true,
            Self::Disk { disk_gone, .. } => !disk_gone,
            Self::Url(_)
            | Self::Download { .. }
            | Self::Read { .. }
            | Self::Format { .. }
            | Self::NoDiskImage(_)
            | Self::Unfit(_)
            | Self::Size { .. }
            | Self::TooSmall { .. }
            | Self::Prepare(_)
            | Self::Deadline(_)
            | Self::Broken(_)
            | Self::Stopped => false,
        }
    }
}
