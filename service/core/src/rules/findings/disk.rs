//! Finds a chosen installation disk that is not there.

use muster_api::host::HostFinding;

use super::finding::finding;
use super::kinds::DISK_MISSING;
use crate::record::Host;
use crate::rules::disks;

/// The disk that a user chose, when it cannot be installed to.
pub(super) fn missing(host: &Host) -> Option<HostFinding> {
    let (disk, why) = disks::missing(host)?;
    let message = format!(
        "The disk {disk}, which was chosen to install to, cannot be: {why}. The host is not installed before it is back or another disk is chosen"
    );
    Some(finding(DISK_MISSING, disk, [], message))
}
