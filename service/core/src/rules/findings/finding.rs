//! Builds findings.

use muster_api::host::HostFinding;
use muster_api::ids::HostId;

pub(super) fn finding(
    kind: &str,
    about: impl Into<String>,
    others: impl IntoIterator<Item = HostId>,
    message: String,
) -> HostFinding {
    let mut others: Vec<HostId> = others.into_iter().collect();
    others.sort_unstable();
    others.dedup();
    HostFinding {
        kind: kind.to_owned(),
        about: about.into(),
        others,
        message,
    }
}
