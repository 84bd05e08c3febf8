//! Checks disks.

use muster_api::inventory::Disk;

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};
use crate::rules::disks::{is_protected, listed, missing, none_listed};

/// Disks that a message names; the inventory has them all.
const NAMED: usize = 4;

/// `has-min-valid-disks`: at least one can be installed to.
pub(in crate::rules::checks) fn min_valid_disks(context: &CheckContext<'_>) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    if let Some(words) = none_listed(&inventory.disks) {
        return Verdict::Error(words.into());
    }
    let disks: Vec<&Disk> = listed(&inventory.disks).collect();
    if disks.iter().any(|disk| disk.installation_eligibility.eligible) {
        return Verdict::Success("A disk can be installed to".into());
    }
    let mut named: Vec<String> = disks.iter().take(NAMED).map(|disk| why_not(disk)).collect();
    if disks.len() > NAMED {
        named.push(format!("and {} more", disks.len() - NAMED));
    }
    let subject = match disks.len() {
        1 => "The only disk cannot be installed to".to_owned(),
        number => format!("None of the {number} disks can be installed to"),
    };
    Verdict::Failure(format!("{subject}: {}", named.join("; ")))
}

/// Name of a disk and the first reason against it.
fn why_not(disk: &Disk) -> String {
    let reasons = &disk.installation_eligibility.not_eligible_reasons;
    let reason = reasons.first().map_or("no reason is given", String::as_str);
    let name = if disk.name.is_empty() {
        &disk.path
    } else {
        &disk.name
    };
    format!("{name}: {reason}")
}

/// `sufficient-installation-disk-speed`: not known to be too slow.
pub(in crate::rules::checks) fn speed(context: &CheckContext<'_>) -> Verdict {
    let data = &context.host.data;
    if let Some((disk, why)) = missing(context.host) {
        return Verdict::Failure(format!(
            "The disk {disk}, which was chosen to install to, cannot be: {why}. Bring it back, or choose another disk"
        ));
    }
    if data.installation_disk_path.is_empty() {
        return Verdict::Error("There is no installation disk whose speed could be known".into());
    }
    let measured = data
        .disks_info
        .get(&data.installation_disk_id)
        .or_else(|| data.disks_info.get(&data.installation_disk_path))
        .and_then(|info| info.disk_speed.as_ref())
        .filter(|speed| speed.tested);
    match measured {
        None => Verdict::success("The speed of the installation disk has not been measured yet"),
        Some(speed) if speed.exit_code == 0 => Verdict::success("The installation disk is fast enough"),
        Some(speed) => Verdict::Failure(format!(
            "The speed of the installation disk {} could not be measured, or is too slow (exit code {}); choose another disk, or have it measured again with reset-validation",
            data.installation_disk_path, speed.exit_code
        )),
    }
}

/// `no-skip-installation-disk`: the disk to install to is not one that must stay as it is.
pub(in crate::rules::checks) fn installation_disk_not_skipped(context: &CheckContext<'_>) -> Verdict {
    let data = &context.host.data;
    let disks = context
        .inventory()
        .map_or(&[][..], |inventory| inventory.disks.as_slice());
    if !data.installation_disk_id.is_empty()
        && is_protected(&data.installation_disk_id, &data.skip_formatting_disks, disks)
    {
        Verdict::Failure(format!(
            "The installation disk {} is among the disks not to be formatted; choose another installation disk or let this one be formatted",
            data.installation_disk_id
        ))
    } else {
        Verdict::Success("The installation disk may be formatted".into())
    }
}

/// `no-skip-missing-disk`: every disk that must stay as it is exists, else the user may have meant another disk.
pub(in crate::rules::checks) fn skipped_disks_exist(context: &CheckContext<'_>) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    let missing: Vec<&str> = context
        .host
        .data
        .skip_formatting_disks
        .iter()
        .map(String::as_str)
        .filter(|id| !inventory.disks.iter().any(|disk| disk.id == *id))
        .collect();
    if missing.is_empty() {
        Verdict::Success("All disks not to be formatted are there".into())
    } else {
        Verdict::Failure(format!(
            "Disks not to be formatted are gone, or have other ids now: {}. Take them off the list, or name them by their new ids",
            missing.join(", ")
        ))
    }
}
