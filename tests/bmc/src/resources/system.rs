//! The System.

use std::time::Instant;

use serde_json::{Value, json};

use super::forms::{BASEBOARD, link};
use super::{inventory, media};
use crate::bmc::Bmc;
use crate::quirks::Systems;

/// The System, or a resource below it.
pub(super) fn read(bmc: &Bmc, path: &[&str], now: Instant) -> Option<Value> {
    match path {
        [] => Some(system(bmc)),
        ["Settings"] if bmc.quirks.settings_object => Some(settings(bmc)),
        ["ResetActionInfo"] if bmc.quirks.action_info => Some(reset_action_info(bmc)),
        ["VirtualMedia", rest @ ..] if !bmc.quirks.media_at_manager => {
            media::read(bmc, &bmc.system(), rest, now)
        }
        rest => inventory::read(bmc, rest),
    }
}

fn system(bmc: &Bmc) -> Value {
    let (path, quirks) = (bmc.system(), &bmc.quirks);
    let (hardware, product) = (&bmc.hardware, &bmc.quirks.product);
    let below = |name: &str| link(&format!("{path}/{name}"));
    let (serial, sku) = if quirks.serial_in_sku {
        (format!("BOARD{}", hardware.serial), hardware.serial.clone())
    } else {
        (hardware.serial.clone(), format!("{} SKU", product.model))
    };
    let tells_memory = bmc.machine.is_on() || !quirks.inventory_needs_power;
    let mut system = json!({
        "@odata.id": path,
        "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
        "Id": product.system,
        "Name": "System",
        "SystemType": "Physical",
        "Manufacturer": product.manufacturer,
        "Model": product.model,
        "SerialNumber": serial,
        "SKU": sku,
        "UUID": inventory::shown_uuid(bmc),
        "AssetTag": "",
        "HostName": "",
        "BiosVersion": product.bios,
        "PowerState": bmc.power_state(),
        "BootProgress": {"LastState": bmc.machine.progress().name()},
        "Status": {"State": "Enabled", "Health": "OK", "HealthRollup": "OK"},
        "ProcessorSummary": {
            "Count": hardware.processors, "Model": hardware.processor.model,
            "CoreCount": hardware.processors * hardware.processor.cores,
            "LogicalProcessorCount": hardware.processors * hardware.processor.threads,
        },
        "MemorySummary": {"TotalSystemMemoryGiB": if tells_memory { hardware.memory_gib } else { 0 }},
        "Processors": below("Processors"),
        "Memory": below("Memory"),
        "Storage": below("Storage"),
        "Boot": bmc.boot.json(quirks, false),
        "Links": {"Chassis": [link(&bmc.chassis())]},
        "Actions": {"#ComputerSystem.Reset": reset_action(bmc)},
    });
    if !quirks.no_managed_by {
        system["Links"]["ManagedBy"] = json!([link(&bmc.manager())]);
    }
    if !quirks.no_ethernet_interfaces {
        system["EthernetInterfaces"] = below("EthernetInterfaces");
    }
    if !quirks.media_at_manager {
        system["VirtualMedia"] = below("VirtualMedia");
    }
    if quirks.settings_object {
        system["@Redfish.Settings"] = json!({
            "@odata.type": "#Settings.v1_3_5.Settings",
            "SettingsObject": below("Settings"),
        });
    }
    system
}

fn reset_action(bmc: &Bmc) -> Value {
    let mut action = json!({"target": format!("{}/Actions/ComputerSystem.Reset", bmc.system())});
    if bmc.quirks.action_info {
        action["@Redfish.ActionInfo"] = format!("{}/ResetActionInfo", bmc.system()).into();
    } else {
        action["ResetType@Redfish.AllowableValues"] = json!(bmc.quirks.reset_types);
    }
    action
}

fn reset_action_info(bmc: &Bmc) -> Value {
    json!({
        "@odata.id": format!("{}/ResetActionInfo", bmc.system()),
        "@odata.type": "#ActionInfo.v1_3_0.ActionInfo",
        "Id": "ResetActionInfo",
        "Name": "Reset Action Info",
        "Parameters": [{
            "Name": "ResetType", "Required": true, "DataType": "String",
            "AllowableValues": bmc.quirks.reset_types,
        }],
    })
}

fn settings(bmc: &Bmc) -> Value {
    json!({
        "@odata.id": format!("{}/Settings", bmc.system()),
        "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
        "Id": "Settings",
        "Name": "Pending Settings",
        "Boot": bmc.boot.json(&bmc.quirks, true),
    })
}

/// The second System.
pub(super) fn baseboard(bmc: &Bmc) -> Value {
    let path = format!("/redfish/v1/Systems/{BASEBOARD}");
    let mut system = json!({
        "@odata.id": path,
        "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
        "Id": BASEBOARD,
        "Name": BASEBOARD,
        "Status": {"State": "Enabled"},
    });
    if bmc.quirks.several_systems == Systems::Two {
        system["SystemType"] = "Physical".into();
        system["PowerState"] = "On".into();
        system["UUID"] = "11111111-2222-4333-8444-555555555555".into();
        system["Boot"] = bmc.boot.json(&bmc.quirks, false);
        system["Links"] = json!({"ManagedBy": [link(&bmc.manager())]});
        system["Actions"] = json!({"#ComputerSystem.Reset": {
            "target": format!("{path}/Actions/ComputerSystem.Reset"),
            "ResetType@Redfish.AllowableValues": bmc.quirks.reset_types,
        }});
    }
    system
}
