//! Computes eligibility, installation disk and format list of a host. Source: docs/protocol/host-lifecycle.md#11.

use std::sync::Arc;

use muster_api::inventory::{Disk, Eligibility, Inventory};

use super::choice::choose;
use super::eligibility::DiskRules;
use super::formatting::to_be_formatted;
use super::unit;
use crate::record::{Host, HostData};
use crate::rules::facts::HostFacts;
use crate::rules::requirements::required;

/// Takes over an inventory from an agent: fills missing disk ids and keeps the agent's own reasons apart, one list a disk.
pub fn adopt(inventory: &mut Inventory) -> Vec<Vec<String>> {
    inventory
        .disks
        .iter_mut()
        .map(|disk| {
            if disk.id.is_empty() {
                disk.id = format!("/dev/{}", disk.name);
            }
            disk.installation_eligibility.not_eligible_reasons.clone()
        })
        .collect()
}

/// Computes eligibility, installation disk and format list of `host` from its inventory; without one nothing changes.
pub fn settle(host: &mut Host, facts: &HostFacts<'_>) {
    evaluate(host, facts);
    let Some(inventory) = &host.inventory else {
        return;
    };
    let requested = &host.data.requested_disk_id;
    let chosen = if requested.is_empty() {
        choose(&inventory.disks, &host.data.installation_disk_id).cloned()
    } else {
        // A disk that a user chose is never replaced by another: an installation would wipe that other disk.
        let mut disks = inventory.disks.iter();
        disks
            .find(|disk| disk.id == *requested && disk.installation_eligibility.eligible)
            .cloned()
    };
    select(&mut host.data, chosen.as_ref());
    let mut formatted = to_be_formatted(&inventory.disks);
    if host.has_node_to_install_again() {
        // The other disks hold data of the node.
        formatted.retain(|id| *id == host.data.installation_disk_id);
    }
    host.data.disks_to_be_formatted = formatted;
}

/// Computes only the eligibility: during an installation the choice is final.
pub fn evaluate(host: &mut Host, facts: &HostFacts<'_>) {
    let required = required(host, facts).role.disk_size_gb;
    let Some(inventory) = host.inventory.as_mut() else {
        return;
    };
    let rules = DiskRules::new(required, facts, inventory);
    let of_agent = |index: usize| host.data.agent_disk_reasons.get(index).into_iter().flatten();
    let found = inventory.disks.iter().enumerate().map(|(index, disk)| {
        let mut reasons: Vec<String> = of_agent(index).cloned().collect();
        for reason in unit::other_paths(index, &inventory.disks).flat_map(of_agent) {
            if !reasons.contains(reason) {
                reasons.push(reason.clone());
            }
        }
        reasons.extend(rules.reasons(disk, inventory));
        Eligibility {
            eligible: reasons.is_empty(),
            not_eligible_reasons: reasons,
        }
    });
    let found: Vec<Eligibility> = found.collect();
    // An unchanged inventory stays shared with the host.
    let stays = |(disk, found): (&Disk, &Eligibility)| disk.installation_eligibility == *found;
    if inventory.disks.iter().zip(&found).all(stays) {
        return;
    }
    for (disk, found) in Arc::make_mut(inventory).disks.iter_mut().zip(found) {
        disk.installation_eligibility = found;
    }
}

/// The disk that a user chose and that cannot be installed to now: its id, and the reason.
pub fn missing(host: &Host) -> Option<(&str, String)> {
    let requested = host.data.requested_disk_id.as_str();
    let inventory = host.inventory.as_ref()?;
    if requested.is_empty() || host.data.installation_disk_id == requested {
        return None;
    }
    let why = match inventory.disks.iter().find(|disk| disk.id == requested) {
        Some(disk) => disk.installation_eligibility.not_eligible_reasons.join("; "),
        None => "the host does not list it any more".to_owned(),
    };
    Some((requested, why))
}

/// Makes `disk` the installation disk, or none.
pub fn select(data: &mut HostData, disk: Option<&Disk>) {
    data.installation_disk_id = disk.map(|d| d.id.clone()).unwrap_or_default();
    data.installation_disk_path = disk.map(|d| format!("/dev/{}", d.name)).unwrap_or_default();
}
