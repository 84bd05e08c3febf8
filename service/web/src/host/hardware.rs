//! Hardware and network of a host, from its inventory.

use std::collections::BTreeSet;

use muster_api::host::{Host, HostOsImage};
use muster_api::inventory::{Disk, Interface, Inventory, Route, SwitchPort};
use muster_api::search::FoundHost;
use serde_json::Value;

use crate::words;

/// Routes that are shown.
const ROUTES: usize = 20;

/// Longest text of the inventory in the page, bytes.
const LONGEST_RAW: usize = 32 << 10;

/// Longest text of an inventory outside of it, letters.
const LONGEST_TEXT: usize = 200;

pub struct DiskRow {
    pub name: String,
    pub size: String,
    pub kind: String,
    pub model: String,
    pub serial: String,
    /// Devices on it and paths to it; empty: none.
    pub parts: String,
    pub is_chosen: bool,
    /// The reason for the choice, or against it.
    pub why: String,
    /// The effect of an installation on its content; empty: none.
    pub fate: &'static str,
}

pub struct CardRow {
    pub name: String,
    pub mac: String,
    pub addresses: String,
    pub link: String,
    pub mtu: String,
    pub hardware: String,
    pub port: String,
    pub vlans: String,
}

/// The inventory as text.
pub struct Raw {
    pub text: String,
    /// True if it is longer.
    pub is_cut: bool,
}

/// Reads an inventory: its texts are cut, but for the ids of disks, by which requests name them.
pub fn read(inventory: &str) -> Inventory {
    let mut value: Value = serde_json::from_str(inventory).unwrap_or_default();
    cut(&mut value);
    serde_json::from_value(value).unwrap_or_default()
}

fn cut(value: &mut Value) {
    match value {
        Value::String(text) => *text = words::beginning(text, LONGEST_TEXT),
        Value::Array(all) => all.iter_mut().for_each(cut),
        Value::Object(fields) => {
            let others = fields.iter_mut().filter(|(name, _)| *name != "id");
            others.for_each(|(_, value)| cut(value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The disks, in the order of the inventory.
pub fn disks(inventory: &Inventory, host: &Host) -> Vec<DiskRow> {
    let possible = inventory.disks.iter();
    let mut possible: Vec<&Disk> = possible
        .filter(|disk| disk.installation_eligibility.eligible)
        .collect();
    possible.sort_by(|one, other| one.installation_order().cmp(&other.installation_order()));
    let is_formatted = |disk: &Disk| host.disks_to_be_formatted.split(',').any(|id| id == disk.id);
    let is_kept = |disk: &Disk| host.skip_formatting_disks.split(',').any(|id| id == disk.id);
    let rows = inventory.disks.iter().map(|disk| {
        let is_chosen = !disk.id.is_empty() && disk.id == host.installation_disk_id;
        DiskRow {
            name: disk.name.clone(),
            size: words::disk(u64::try_from(disk.size_bytes).unwrap_or_default()),
            kind: disk.drive_type.clone(),
            model: format!("{} {}", disk.vendor, disk.model).trim().to_owned(),
            serial: disk.serial.clone(),
            parts: parts(disk),
            is_chosen,
            why: why(disk, is_chosen, &possible),
            fate: match (is_chosen, is_kept(disk), is_formatted(disk)) {
                (true, ..) => "all on it is overwritten",
                (false, false, true) => "formatted, so that no old system boots from it",
                (false, true, _) => "kept as it is, by a user's setting",
                (false, false, false) => "",
            },
        }
    });
    rows.collect()
}

/// `possible`: the disks that can be installed to, first ones first.
fn why(disk: &Disk, is_chosen: bool, possible: &[&Disk]) -> String {
    if !disk.installation_eligibility.eligible {
        return disk.installation_eligibility.not_eligible_reasons.join("; ");
    }
    let place = possible.iter().position(|other| other.id == disk.id);
    match (is_chosen, place, possible.len()) {
        (true, _, 1) => "the only possible one".to_owned(),
        (true, Some(0), number) => format!("the first of {number} possible ones"),
        (true, ..) => "set by a user, or chosen earlier: it stays while it is possible".to_owned(),
        (false, Some(place), number) => format!("possible: number {} of {number}", place + 1),
        (false, None, _) => "possible".to_owned(),
    }
}

fn parts(disk: &Disk) -> String {
    let mut parts = Vec::new();
    if !disk.holders.is_empty() {
        parts.push(format!("in use by {}", disk.holders));
    }
    if !disk.paths.is_empty() {
        parts.push(format!("{} paths: {}", disk.paths.len(), disk.paths.join(", ")));
    }
    if disk.is_installation_media {
        parts.push("the host was booted from it".to_owned());
    }
    parts.join("; ")
}

/// The network cards, without the loopback.
pub fn cards(inventory: &Inventory) -> Vec<CardRow> {
    let cards = inventory.interfaces.iter().filter(|card| card.name != "lo");
    cards.map(CardRow::of).collect()
}

impl CardRow {
    fn of(card: &Interface) -> Self {
        let addresses: Vec<&str> = card
            .ipv4_addresses
            .iter()
            .chain(&card.ipv6_addresses)
            .map(String::as_str)
            .collect();
        let kind = match card.kind.as_str() {
            "physical" => "",
            kind => kind,
        };
        let port = card.switch_port.as_ref();
        Self {
            name: card.name.clone(),
            mac: card.mac_address.clone(),
            addresses: addresses.join(", "),
            link: match card.has_carrier {
                false => "no cable".to_owned(),
                true => words::speed(card.speed_mbps),
            },
            mtu: match card.mtu {
                ..=0 => String::new(),
                mtu => mtu.to_string(),
            },
            hardware: format!("{kind} {} {}", card.vendor, card.product)
                .trim()
                .to_owned(),
            port: port.map_or_else(String::new, |port| format!("{} {}", port.switch, port.port)),
            vlans: port.map(vlans).unwrap_or_default(),
        }
    }
}

/// The VLANs of a switch port.
fn vlans(port: &SwitchPort) -> String {
    let list = |vlans: &[u16]| vlans.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    if port.native_vlan != 0 {
        parts.push(format!("{} untagged", port.native_vlan));
    }
    if !port.tagged_vlans.is_empty() {
        parts.push(format!("{} tagged", list(&port.tagged_vlans)));
    }
    if !port.missing_vlans.is_empty() {
        parts.push(format!("{} missing on the switch", list(&port.missing_vlans)));
    }
    parts.join("; ")
}

fn is_default(route: &Route) -> bool {
    matches!(route.destination.as_str(), "" | "0.0.0.0" | "::" | "default")
}

/// The routes, default ones first, each once.
pub fn routes(inventory: &Inventory) -> Vec<String> {
    let text = |route: &Route| {
        let destination = match is_default(route) {
            true => "default",
            false => route.destination.as_str(),
        };
        let gateway = match route.gateway.is_empty() {
            true => String::new(),
            false => format!(" by {}", route.gateway),
        };
        format!("{destination}{gateway} on {}", route.interface)
    };
    let mut seen = BTreeSet::new();
    let (mut first, others): (Vec<&Route>, Vec<&Route>) =
        inventory.routes.iter().partition(|route| is_default(route));
    first.extend(others);
    let texts = first.into_iter().map(text);
    texts
        .filter(|text| seen.insert(text.clone()))
        .take(ROUTES)
        .collect()
}

/// Further facts by name, without unknown ones.
pub fn facts(summary: &FoundHost, inventory: &Inventory, host: &Host) -> Vec<(&'static str, String)> {
    let hardware = summary.hardware.as_ref();
    let of = |value: Option<String>| value.unwrap_or_default();
    let model = hardware.map(|hardware| format!("{} {}", hardware.vendor, hardware.model));
    let cpu = inventory
        .cpu
        .as_ref()
        .map(|cpu| format!("{} × {}", cpu.count, cpu.model_name));
    let gpus = hardware.map(|hardware| {
        let gpus = hardware
            .gpus
            .iter()
            .map(|gpus| format!("{} × {}", gpus.count, gpus.model));
        gpus.collect::<Vec<_>>().join(", ")
    });
    let secure_boot = hardware.and_then(|hardware| hardware.secure_boot);
    let labels = summary.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let all = [
        ("Model", of(model).trim().to_owned()),
        (
            "Serial number",
            of(hardware.map(|hardware| hardware.serial.clone())),
        ),
        ("Processor", of(cpu)),
        (
            "Memory",
            of(hardware.map(|hardware| words::memory(hardware.memory_bytes))),
        ),
        ("GPUs", of(gpus)),
        (
            "Firmware",
            of(hardware.and_then(|hardware| hardware.firmware.clone())),
        ),
        (
            "Secure Boot",
            of(secure_boot.map(|on| if on { "on" } else { "off" }.to_owned())),
        ),
        ("TPM", inventory.tpm_version.clone()),
        (
            "BMC, as the host reports it",
            of(hardware.map(|hardware| hardware.bmc_address.clone())),
        ),
        ("Labels", labels.collect::<Vec<_>>().join(", ")),
        ("OS image", of(host.os_image.as_ref().map(HostOsImage::text))),
        ("Agent", summary.agent_version.clone()),
        ("Registered", summary.registered_at.clone()),
        ("Id", host.id.to_string()),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The inventory as the host reports it, with line breaks; `None`: there is none.
pub fn raw(inventory: &str) -> Option<Raw> {
    let value: Value = serde_json::from_str(inventory).ok()?;
    let mut text = serde_json::to_string_pretty(&value).ok()?;
    let end = text.floor_char_boundary(LONGEST_RAW);
    let is_cut = end < text.len();
    text.truncate(end);
    Some(Raw { text, is_cut })
}

#[cfg(test)]
mod tests {
    use muster_api::inventory::Eligibility;

    use super::*;

    fn disk(name: &str, bytes: i64) -> Disk {
        Disk {
            id: name.into(),
            name: name.into(),
            size_bytes: bytes,
            installation_eligibility: Eligibility {
                eligible: true,
                not_eligible_reasons: Vec::new(),
            },
            ..Disk::default()
        }
    }

    #[test]
    fn a_disk_is_explained_by_its_place_in_the_order() {
        let (small, large) = (disk("sdb", 1), disk("sda", 2));
        let mut bad = disk("sdc", 3);
        bad.installation_eligibility = Eligibility {
            eligible: false,
            not_eligible_reasons: vec!["too small".into(), "removable".into()],
        };
        let possible = [&small, &large];
        assert_eq!(why(&small, true, &possible), "the first of 2 possible ones");
        assert_eq!(why(&large, false, &possible), "possible: number 2 of 2");
        assert!(why(&large, true, &possible).starts_with("set by a user"));
        assert_eq!(why(&small, true, &[&small]), "the only possible one");
        assert_eq!(why(&bad, false, &possible), "too small; removable");
    }

    #[test]
    fn holders_paths_vlans_and_routes_are_written_out() {
        let held = Disk {
            holders: "dm-0".into(),
            paths: vec!["/dev/sda".into(), "/dev/sdb".into()],
            ..disk("dm-1", 1)
        };
        assert_eq!(parts(&held), "in use by dm-0; 2 paths: /dev/sda, /dev/sdb");
        let port = SwitchPort {
            native_vlan: 1,
            tagged_vlans: vec![10, 20],
            missing_vlans: vec![30],
            ..SwitchPort::default()
        };
        assert_eq!(
            vlans(&port),
            "1 untagged; 10, 20 tagged; 30 missing on the switch"
        );
        let route = |destination: &str, gateway: &str| Route {
            destination: destination.into(),
            gateway: gateway.into(),
            interface: "eth0".into(),
            ..Route::default()
        };
        let inventory = Inventory {
            routes: vec![
                route("192.0.2.0", ""),
                route("0.0.0.0", "198.51.100.1"),
                route("192.0.2.0", ""),
            ],
            ..Inventory::default()
        };
        assert_eq!(
            routes(&inventory),
            ["default by 198.51.100.1 on eth0", "192.0.2.0 on eth0"]
        );
    }

    #[test]
    fn long_texts_are_cut_but_the_ids_of_disks() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let told = Inventory {
            disks: vec![disk(&long, 1)],
            hostname: "host-1".into(),
            ..Inventory::default()
        };
        let read = read(&serde_json::to_string(&told).unwrap());
        assert_eq!(read.disks[0].id, long);
        assert_eq!(read.disks[0].name, format!("{}…", "x".repeat(LONGEST_TEXT)));
        assert_eq!((read.disks[0].size_bytes, read.hostname.as_str()), (1, "host-1"));
    }

    #[test]
    fn a_long_inventory_is_cut_between_letters() {
        let long = serde_json::to_string(&"ä".repeat(LONGEST_RAW)).unwrap();
        let cut = raw(&long).unwrap();
        assert!(cut.is_cut && cut.text.len() <= LONGEST_RAW && cut.text.ends_with('ä'));
        assert!(raw("").is_none() && !raw("{}").unwrap().is_cut);
    }
}
