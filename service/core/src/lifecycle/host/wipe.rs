//! Clears parts of a host's record. Source: docs/protocol/host-lifecycle.md#3.1 (set A) and §3.2 (set B).

use std::sync::Arc;

use muster_api::host::{HostKind, HostRole};

use crate::record::{Host, ImageWish, LogsState, RebootOutcome, Secret, Sees};
use crate::rules::hardware::parts;

/// Set A: the reports of an earlier boot. Users' choices, reports about others and measurements of disks stay.
pub(super) fn session(host: &mut Host) {
    installation(host);
    host.data.logs = LogsState::default();
    host.data.ntp_sources = None;
    // A new session reads the medium again.
    host.data.media_status = None;
}

/// Progress, identity, inventory and images, which a bind clears, too. The parts of the inventory are kept until the next one, which is
/// compared with them.
pub(super) fn installation(host: &mut Host) {
    let inventory = host.inventory.take();
    let data = &mut host.data;
    if let Some(parts) = inventory.as_deref().and_then(parts) {
        data.parts_before = Some(parts);
    }
    data.progress = None;
    data.installed_as = None;
    data.os_image = None;
    data.bootstrap = false;
    data.images_status.clear();
    data.agent_disk_reasons.clear();
}

/// Set B: the membership in a cluster. The name, arguments and ignition that users chose and measurements of disks stay.
pub(super) fn membership(host: &mut Host) {
    installation(host);
    host.cluster_id = None;
    host.reports = Arc::default();
    host.bootstrap_ignition = Secret::default();
    let data = &mut host.data;
    data.sees = Sees::default();
    data.logs = LogsState::default();
    data.kind = HostKind::Host;
    data.domain_name_resolutions = None;
    data.installation_disk_id.clear();
    data.installation_disk_path.clear();
    data.requested_disk_id.clear();
    data.has_bootstrap_ignition = false;
    data.image_wish = ImageWish::default();
    data.machine_config_pool_name.clear();
    data.api_vip_connectivity = None;
    data.role = HostRole::AutoAssign;
    data.suggested_role = HostRole::AutoAssign;
    // The request stays, so that it is not taken for a new one in another cluster.
    if let Some(asked) = &mut data.asked_reboot {
        asked.end(RebootOutcome::Failed("it left its cluster first".into()));
    }
}
