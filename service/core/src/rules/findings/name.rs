//! Finds hosts that report another name than the one they are installed with.

use muster_api::host::HostFinding;

use super::finding::finding;
use super::kinds::NAME_CHANGED;
use crate::record::Host;

/// The other name that it has reported since its installation was requested.
pub(super) fn changed(host: &Host) -> Option<HostFinding> {
    let kept = host.data.installed_as.as_ref()?;
    if kept.calls_itself.is_empty() {
        return None;
    }
    let message = format!(
        "The host calls itself {:?} since its installation was requested. It is still taken for {}, and no certificate is approved for another name. If the new name is meant, set it, and install the host again",
        kept.calls_itself, kept.hostname
    );
    Some(finding(NAME_CHANGED, kept.hostname.as_str(), [], message))
}
