//! Describes a download: its bytes as a plan over a base file, and its headers.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use muster_image::iso9660::Extent;
use muster_image::{ImageBytes, Piece, Plan};
use muster_operations::images::base_file::BaseFile;
use muster_operations::images::discovery::DiscoveryImage;
use muster_operations::images::live::OpenLiveImage;
use muster_operations::images::os::OpenOsImage;

/// UEFI HTTP boot takes this for a CD whatever the URL ends in (docs/protocol/ipxe.md#5).
const ISO_TYPE: &str = "application/vnd.efi-iso";
const BINARY_TYPE: &str = "application/octet-stream";

/// A download, ready to be served to any client.
#[derive(Debug, Clone)]
pub struct Download {
    pub plan: Plan,
    /// The file that the plan's ranges of the base refer to.
    pub base: Arc<BaseFile>,
    pub meta: Meta,
}

/// The headers of a download.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Strong entity tag, quoted.
    pub etag: String,
    /// Counted in whole seconds, as HTTP does.
    pub last_modified: SystemTime,
    /// Media type.
    pub content_type: &'static str,
    /// Offered name; letters, digits, `.`, `-`, `_`. Others become `_`.
    pub file_name: String,
}

impl Download {
    /// An ISO. `updated_at`: the last change of what it was made for.
    pub fn iso(
        image: &DiscoveryImage,
        bytes: ImageBytes,
        updated_at: SystemTime,
        file_name: impl Into<String>,
    ) -> Self {
        Self::new(image, bytes, updated_at, ISO_TYPE, file_name)
    }

    /// Another artifact of a discovery image.
    pub fn artifact(
        image: &DiscoveryImage,
        bytes: ImageBytes,
        updated_at: SystemTime,
        file_name: impl Into<String>,
    ) -> Self {
        Self::new(image, bytes, updated_at, BINARY_TYPE, file_name)
    }

    /// The agent as a program. Its tag is its digest.
    pub fn agent_program(live: &OpenLiveImage, program: Bytes, sha256: &str) -> Self {
        Self {
            plan: Plan::concatenation([Piece::Bytes(program)]),
            base: live.base().clone(),
            meta: Meta {
                etag: format!("\"{sha256}\""),
                last_modified: whole_seconds(live.modified),
                content_type: BINARY_TYPE,
                file_name: "muster-agent".into(),
            },
        }
    }

    /// The image that is written to a host's disk. Its tag is its digest, so a download can continue at another replica, and after a
    /// restart.
    pub fn os_image(image: &OpenOsImage) -> Self {
        let whole = Extent {
            offset: 0,
            length: image.size,
        };
        Self {
            plan: Plan::concatenation([Piece::Base(whole)]),
            base: image.base.clone(),
            meta: Meta {
                etag: format!("\"{}\"", image.sha256),
                last_modified: whole_seconds(image.modified),
                content_type: BINARY_TYPE,
                file_name: image.file_name.clone(),
            },
        }
    }

    fn new(
        image: &DiscoveryImage,
        bytes: ImageBytes,
        updated_at: SystemTime,
        content_type: &'static str,
        file_name: impl Into<String>,
    ) -> Self {
        let meta = Meta {
            etag: bytes.etag,
            last_modified: whole_seconds(updated_at.max(image.modified())),
            content_type,
            file_name: file_name.into(),
        };
        Self {
            plan: bytes.plan,
            base: image.base().clone(),
            meta,
        }
    }
}

/// HTTP dates have no fractions; with them `If-Modified-Since` would never be met.
fn whole_seconds(time: SystemTime) -> SystemTime {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(since_epoch.as_secs())
}
