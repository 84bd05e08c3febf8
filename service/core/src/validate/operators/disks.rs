//! Operators that need disks beside the one that is installed to.

use muster_api::host::HostRole;
use muster_api::inventory::Disk;

use super::needs::Need;
use super::{Case, Operator, masters_are_schedulable, workers};
use crate::host::disks::si_size;
use crate::validate::look::{Bound, Look};
use crate::validate::{Verdict, no_inventory};

const GB: i64 = 1_000_000_000;
/// Smallest disk for storage, bytes.
const LEAST_ODF: i64 = 25 * GB;
/// A cluster of as many hosts is compact: its control plane stores.
const COMPACT_HOSTS: usize = 3;
/// Least for the disks of virtual machines on a single node, bytes.
pub(super) const HOSTPATH_BYTES: i64 = 50 << 30;

/// What the hub for clusters stores on top, bytes; 0 when it is not selected.
fn for_mce(bound: &Bound<'_>) -> i64 {
    match (Operator::Mce.is_selected(bound), bound.is_single_node()) {
        (false, _) => 0,
        (true, false) => 50 * GB,
        (true, true) => 70 * GB,
    }
}

/// Disks that an operator may take.
fn spare<'a>(look: &Look<'a>, least: i64) -> impl Iterator<Item = &'a Disk> {
    let installed = &look.host.data.installation_disk_id;
    let disks = look.inventory().map_or(&[][..], |inventory| &inventory.disks);
    disks.iter().filter(move |disk| {
        matches!(disk.drive_type.as_str(), "HDD" | "SSD") && disk.id != *installed && disk.size_bytes >= least
    })
}

/// Whether there is such a disk of at least `least` bytes.
pub(super) fn has_spare(case: &Case<'_, '_>, least: i64) -> bool {
    spare(case.view, least).next().is_some()
}

fn is_compact(role: HostRole, bound: &Bound<'_>) -> bool {
    bound.peers.len() < COMPACT_HOSTS || workers(role, bound) == 0
}

/// Whether a host of this role stores.
fn stores(role: HostRole, bound: &Bound<'_>) -> bool {
    if is_compact(role, bound) {
        matches!(
            role,
            HostRole::Master | HostRole::Arbiter | HostRole::AutoAssign | HostRole::Bootstrap
        )
    } else {
        role == HostRole::Worker
    }
}

/// Storage: a disk of its own on each host that stores.
pub(super) fn odf(case: &Case<'_, '_>) -> Verdict {
    if case.view.inventory().is_none() {
        return no_inventory();
    }
    let role = case.view.role();
    if role == HostRole::AutoAssign && case.bound.peers.len() + 1 != COMPACT_HOSTS {
        return Verdict::Pending(
            "Waits for the host's role, which tells whether it stores; give it one".into(),
        );
    }
    if !stores(role, &case.bound) {
        return case.satisfied();
    }
    disk_of(case, LEAST_ODF + for_mce(&case.bound))
}

/// What storage needs of a host, by its disks.
pub(super) fn odf_need(look: &Look<'_>, bound: &Bound<'_>) -> Need {
    let role = look.role();
    if !stores(role, bound) {
        return Need::default();
    }
    let disks = i64::try_from(spare(look, LEAST_ODF).count())
        .unwrap_or(i64::MAX >> 16)
        .max(1);
    let compact = is_compact(role, bound);
    Need {
        cpu_cores: if compact { 6 } else { 8 } + 2 * disks,
        ram_mib: (19 + 5 * disks) * 1024,
    }
}

/// Volumes on local disks, on each host that runs what users run.
pub(super) fn lvm(case: &Case<'_, '_>) -> Verdict {
    if case.view.inventory().is_none() {
        return no_inventory();
    }
    let role = case.view.role();
    let schedulable = masters_are_schedulable(role, &case.bound);
    let runs = match role {
        HostRole::Worker => true,
        HostRole::Arbiter => false,
        HostRole::AutoAssign if !schedulable => {
            return Verdict::Failure(
                "Whether the host needs a disk for volumes depends on its role; give it one".into(),
            );
        }
        HostRole::AutoAssign | HostRole::Master | HostRole::Bootstrap => schedulable,
    };
    if !runs {
        return case.satisfied();
    }
    disk_of(case, for_mce(&case.bound))
}

fn disk_of(case: &Case<'_, '_>, least: i64) -> Verdict {
    if has_spare(case, least) {
        return case.satisfied();
    }
    let size = if least > 0 {
        format!(" of at least {}", si_size(least))
    } else {
        String::new()
    };
    Verdict::Failure(format!(
        "{} needs a disk{size} (HDD or SSD) beside the one that is installed to; add one",
        case.operator.name()
    ))
}
