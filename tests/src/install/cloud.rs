//! The image that cloud-init configures at its first boot, laid out as Debian's cloud images: built by `.ci/cloud`. Source:
//! docs/protocol/capi-day1.md, section 4.1.

use serde_json::{Value, json};

use super::disk_image::DiskImage;
use crate::qemu::Architecture;

/// The name by which it is requested.
pub const NAME: &str = "debian-13";

/// An operator's list of OS images (`--os-images`) with it alone.
///
/// # Panics
/// If it is not built; the message has the command that builds it.
#[track_caller]
pub fn os_images() -> Value {
    let remedy = "`.ci/needs install` (`make test-install` does; three minutes, once)";
    let mut entry = DiskImage::built("cloud", &[], remedy).entry(Architecture::X86_64, "muster-cloud-lab");
    entry["name"] = json!(NAME);
    entry["configuration"] = json!("cloud-init");
    json!([entry])
}
