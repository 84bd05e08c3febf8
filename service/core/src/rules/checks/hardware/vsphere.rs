//! Checks virtual machines of vSphere.

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};

/// Maker of the machines of vSphere.
pub(super) const VMWARE: &str = "VMware";

/// `vsphere-disk-uuid-enabled`: each disk that can be installed to can be distinguished from the others.
pub(in crate::rules::checks) fn disk_uuid(context: &CheckContext<'_>) -> Verdict {
    if context.bound().is_none() {
        return Verdict::Hidden;
    }
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    let is_vsphere = inventory
        .system_vendor
        .as_ref()
        .is_some_and(|vendor| vendor.manufacturer.contains(VMWARE));
    if !is_vsphere {
        return Verdict::Hidden;
    }
    if inventory.disks.is_empty() {
        return Verdict::Pending("Waits for the host to list its disks".into());
    }
    let without: Vec<&str> = inventory
        .disks
        .iter()
        .filter(|disk| disk.installation_eligibility.eligible && !disk.has_uuid)
        .map(|disk| disk.name.as_str())
        .collect();
    if without.is_empty() {
        Verdict::success("The disks have UUIDs")
    } else {
        Verdict::Failure(format!(
            "Disks without UUID: {}; set disk.EnableUUID=TRUE in the settings of the virtual machine and start it again",
            without.join(", ")
        ))
    }
}
