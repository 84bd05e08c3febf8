//! The hardware below the System (docs/protocol/redfish.md#5).

use serde_json::{Value, json};
use uuid::Uuid;

use super::forms::{collection, link};
use crate::bmc::Bmc;

/// The UUID as the BMC shows it.
pub(super) fn shown_uuid(bmc: &Bmc) -> String {
    let uuid = bmc.hardware.uuid;
    if bmc.quirks.swapped_uuid {
        Uuid::from_bytes_le(*uuid.as_bytes()).to_string().to_uppercase()
    } else {
        uuid.to_string()
    }
}

pub(super) fn read(bmc: &Bmc, path: &[&str]) -> Option<Value> {
    match path {
        ["EthernetInterfaces", rest @ ..] if !bmc.quirks.no_ethernet_interfaces => {
            member(bmc, "EthernetInterfaces", "EthernetInterface", cards(bmc), rest)
        }
        ["Processors", rest @ ..] => member(bmc, "Processors", "Processor", processors(bmc), rest),
        ["Memory", rest @ ..] => member(bmc, "Memory", "Memory", memory(bmc), rest),
        ["Storage", "1", "Drives", rest @ ..] => {
            let drives = drives(bmc);
            member(bmc, "Storage/1/Drives", "Drive", drives, rest)
        }
        ["Storage", rest @ ..] => member(bmc, "Storage", "Storage", vec![storage(bmc)], rest),
        _ => None,
    }
}

/// A collection below the System with members numbered from 1, or one of them.
fn member(bmc: &Bmc, name: &str, kind: &str, members: Vec<Value>, path: &[&str]) -> Option<Value> {
    let at = |number: usize| format!("{}/{name}/{number}", bmc.system());
    match path {
        [] => {
            let paths: Vec<String> = (1..=members.len()).map(at).collect();
            let path = format!("Systems/{}/{name}", bmc.quirks.product.system);
            Some(collection(bmc, &path, kind, &paths))
        }
        [number] => {
            let number: usize = number.parse().ok()?;
            let mut member = members.into_iter().nth(number.checked_sub(1)?)?;
            member["@odata.id"] = at(number).into();
            member["@odata.type"] = format!("#{kind}.v1_5_0.{kind}").into();
            member["Id"] = number.to_string().into();
            Some(member)
        }
        _ => None,
    }
}

fn cards(bmc: &Bmc) -> Vec<Value> {
    let odd = bmc.quirks.odd_macs;
    let card = |mac: &str| {
        json!({
            "Name": "System Ethernet Interface", "MACAddress": mac, "PermanentMACAddress": mac,
            "SpeedMbps": 10000, "LinkStatus": "LinkUp", "Status": {"State": "Enabled"},
        })
    };
    let macs = bmc.hardware.macs.iter();
    let mut cards: Vec<Value> = macs
        .map(|mac| if odd { card(&mac.to_uppercase()) } else { card(mac) })
        .collect();
    if odd {
        cards.push(card(""));
    }
    cards
}

fn processors(bmc: &Bmc) -> Vec<Value> {
    let model = &bmc.hardware.processor;
    let processor = json!({
        "Name": "Processor", "ProcessorType": "CPU", "InstructionSet": "x86-64", "Model": model.model,
        "TotalCores": model.cores, "TotalThreads": model.threads, "MaxSpeedMHz": 2000,
        "Status": {"State": "Enabled"},
    });
    vec![processor; bmc.hardware.processors as usize]
}

fn memory(bmc: &Bmc) -> Vec<Value> {
    let part = json!({
        "Name": "DIMM A1", "MemoryDeviceType": "DDR4", "CapacityMiB": bmc.hardware.memory_gib * 1024,
        "Status": {"State": "Enabled"},
    });
    let empty = json!({"Name": "DIMM A2", "CapacityMiB": null, "Status": {"State": "Absent"}});
    vec![part, empty]
}

fn storage(bmc: &Bmc) -> Value {
    let count = drives(bmc).len();
    let at = |number: usize| link(&format!("{}/Storage/1/Drives/{number}", bmc.system()));
    json!({
        "Name": "Storage", "Drives@odata.count": count,
        "Drives": (1..=count).map(at).collect::<Vec<_>>(),
    })
}

fn drives(bmc: &Bmc) -> Vec<Value> {
    if bmc.quirks.inventory_needs_power && !bmc.machine.is_on() {
        return Vec::new();
    }
    let drive = |drive: &crate::machine::Drive| {
        json!({
            "Name": "Drive", "CapacityBytes": drive.bytes, "MediaType": "SSD", "Protocol": drive.protocol,
            "SerialNumber": drive.serial, "Model": drive.model, "Status": {"State": "Enabled"},
        })
    };
    bmc.hardware.drives.iter().map(drive).collect()
}
