//! Installation disks that are reached over the network.

use std::net::IpAddr;

use muster_api::inventory::{Disk, Inventory};

use super::look::{View, networks_of};
use super::{Verdict, no_inventory};

/// `no-iscsi-nic-belongs-to-machine-cidr`: a disk is not reached through the interface that the cluster configures anew.
pub(super) fn no_nic_in_machine_network(look: &View<'_>) -> Verdict {
    let Some(bound) = look.bound().filter(|bound| !bound.is_day2()) else {
        return Verdict::Hidden;
    };
    if bound.user_managed_networking() && !bound.is_single_node() {
        return Verdict::Hidden;
    }
    let Some(inventory) = look.inventory() else {
        return no_inventory();
    };
    if bound.data().machine_networks.is_empty() {
        return Verdict::Pending("Waits for the machine network of the cluster".into());
    }
    let paths = iscsi_paths(inventory, &look.host.data.installation_disk_id);
    if paths.is_empty() {
        return Verdict::Hidden;
    }
    let networks = match bound.machine_networks() {
        Ok(networks) => networks,
        Err(verdict) => return verdict,
    };
    let mut inside = Vec::new();
    for disk in paths {
        let own = disk.iscsi.as_ref().map_or("", |iscsi| &iscsi.host_ip_address);
        let Ok(own) = own.parse::<IpAddr>() else {
            return Verdict::Error(format!(
                "The host's address of the iSCSI disk {} is not known",
                disk.name
            ));
        };
        let nic = inventory
            .interfaces
            .iter()
            .find(|interface| networks_of(interface).any(|net| net.addr() == own));
        let Some(nic) = nic else {
            return Verdict::Error(format!(
                "The iSCSI disk {} is reached from {own}, which no interface of the host has",
                disk.name
            ));
        };
        if networks_of(nic).any(|net| networks.iter().any(|network| network.contains(&net.addr()))) {
            inside.push(disk.name.as_str());
        }
    }
    if inside.is_empty() {
        Verdict::success("The installation disk is reached through a network of its own")
    } else {
        Verdict::Failure(format!(
            "Disks are reached through the machine network: {}; use another interface for iSCSI",
            inside.join(", ")
        ))
    }
}

/// The installation disk if it is an iSCSI disk, or its paths that are; none for any other.
fn iscsi_paths<'a>(inventory: &'a Inventory, id: &str) -> Vec<&'a Disk> {
    let Some(chosen) = inventory.disks.iter().find(|disk| disk.id == id) else {
        return Vec::new();
    };
    match chosen.drive_type.as_str() {
        "iSCSI" => vec![chosen],
        "Multipath" => inventory
            .disks
            .iter()
            .filter(|disk| {
                disk.drive_type == "iSCSI" && disk.holders.split(',').any(|name| name.trim() == chosen.name)
            })
            .collect(),
        _ => Vec::new(),
    }
}
