//! The Chassis, and its network adapter.

use serde_json::{Value, json};

use super::forms::{collection, link};
use crate::bmc::Bmc;

/// The Chassis, or a resource below it.
pub(super) fn read(bmc: &Bmc, path: &[&str]) -> Option<Value> {
    match path {
        [] => Some(chassis(bmc)),
        rest => below(bmc, rest),
    }
}

fn chassis(bmc: &Bmc) -> Value {
    let product = &bmc.quirks.product;
    json!({
        "@odata.id": bmc.chassis(),
        "@odata.type": "#Chassis.v1_22_0.Chassis",
        "Id": product.chassis,
        "Name": "Chassis",
        "ChassisType": "RackMount",
        "Manufacturer": product.manufacturer,
        "Model": product.model,
        "SerialNumber": bmc.hardware.serial,
        "PowerState": bmc.power_state(),
        "Status": {"State": "Enabled", "Health": "OK"},
        "NetworkAdapters": link(&format!("{}/NetworkAdapters", bmc.chassis())),
        "Links": {"ComputerSystems": [link(&bmc.system())], "ManagedBy": [link(&bmc.manager())]},
    })
}

/// One adapter with a function for each network card.
fn below(bmc: &Bmc, path: &[&str]) -> Option<Value> {
    // Below /redfish/v1.
    let adapters = format!("Chassis/{}/NetworkAdapters", bmc.quirks.product.chassis);
    let functions = format!("{adapters}/1/NetworkDeviceFunctions");
    let at = |path: &str| format!("/redfish/v1/{path}");
    let adapter = at(&format!("{adapters}/1"));
    let function = |number: usize| at(&format!("{functions}/{number}"));
    match path {
        ["NetworkAdapters"] => Some(collection(bmc, &adapters, "NetworkAdapter", &[adapter])),
        ["NetworkAdapters", "1"] => Some(json!({
            "@odata.id": adapter,
            "@odata.type": "#NetworkAdapter.v1_9_0.NetworkAdapter",
            "Id": "1",
            "Name": "Network Adapter",
            "NetworkDeviceFunctions": link(&at(&functions)),
        })),
        ["NetworkAdapters", "1", "NetworkDeviceFunctions"] => {
            let members: Vec<String> = (0..bmc.hardware.macs.len()).map(function).collect();
            Some(collection(bmc, &functions, "NetworkDeviceFunction", &members))
        }
        ["NetworkAdapters", "1", "NetworkDeviceFunctions", number] => {
            let number: usize = number.parse().ok()?;
            let mac = bmc.hardware.macs.get(number)?;
            Some(json!({
                "@odata.id": function(number),
                "@odata.type": "#NetworkDeviceFunction.v1_9_0.NetworkDeviceFunction",
                "Id": number.to_string(),
                "Name": "Network Device Function",
                "NetDevFuncType": "Ethernet",
                "Ethernet": {"MACAddress": mac, "PermanentMACAddress": mac},
            }))
        }
        _ => None,
    }
}
