//! Converts a host's inventory to the hardware details that Metal3 accepts in place of an inspection. Source:
//! docs/protocol/kube-controllers.md#7.1, docs/protocol/crd-fields.json (BareMetalHost `status.hardware`).

use muster_resources::inventory::{HostDisk, HostInterface, HostInventory};
use serde_json::{Map, Value, json};

/// The value of the annotation.
pub fn details(inventory: &HostInventory) -> String {
    let cpu = inventory.cpu.clone().unwrap_or_default();
    let memory = inventory.memory.clone().unwrap_or_default();
    let vendor = inventory.system_vendor.clone().unwrap_or_default();
    let details = json!({
        "hostname": inventory.hostname.clone().unwrap_or_default(),
        "systemVendor": object([
            ("manufacturer", json!(vendor.manufacturer)),
            ("productName", json!(vendor.product_name)),
            ("serialNumber", json!(vendor.serial_number)),
        ]),
        "ramMebibytes": memory.physical_bytes.unwrap_or_default() / (1 << 20),
        "cpu": object([
            ("arch", json!(cpu.architecture)),
            ("model", json!(cpu.model_name)),
            ("clockMegahertz", json!(cpu.clock_megahertz)),
            ("count", json!(cpu.count)),
            ("flags", json!(cpu.flags)),
        ]),
        "nics": inventory.interfaces.iter().flat_map(nics).collect::<Vec<_>>(),
        "storage": inventory.disks.iter().map(storage).collect::<Vec<_>>(),
    });
    details.to_string()
}

/// An object of the members that are known.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let known = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        known
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Map<_, _>>(),
    )
}

/// Returns one entry for each address; one for an interface that has none.
fn nics(interface: &HostInterface) -> Vec<Value> {
    let addresses = interface.ip_v4_addresses.iter().chain(&interface.ip_v6_addresses);
    let without_prefix = |address: &String| address.split('/').next().unwrap_or_default().to_owned();
    let mut addresses: Vec<Option<String>> = addresses.map(without_prefix).map(Some).collect();
    if addresses.is_empty() {
        addresses.push(None);
    }
    let model = match (&interface.vendor, &interface.product) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.clone().or(product.clone()),
    };
    let speed = interface.speed_mbps.filter(|speed| *speed > 0);
    addresses
        .into_iter()
        .map(|address| {
            object([
                ("name", json!(interface.name)),
                ("mac", json!(interface.mac_address)),
                ("model", json!(model)),
                ("ip", json!(address)),
                ("speedGbps", json!(speed.map(|speed| speed / 1000))),
            ])
        })
        .collect()
}

fn storage(disk: &HostDisk) -> Value {
    let name = disk.by_path.clone().or(disk.path.clone());
    let kind = disk.drive_type.as_deref();
    let is_nvme = disk.name.as_deref().is_some_and(|name| name.starts_with("nvme"));
    let kind = match kind {
        Some("HDD") => Some("HDD"),
        Some("SSD") if is_nvme => Some("NVME"),
        Some("SSD") => Some("SSD"),
        _ => None,
    };
    object([
        ("name", json!(name)),
        ("type", json!(kind)),
        ("rotational", json!(kind == Some("HDD"))),
        ("sizeBytes", json!(disk.size_bytes)),
        ("vendor", json!(disk.vendor)),
        ("model", json!(disk.model)),
        ("serialNumber", json!(disk.serial)),
        ("wwn", json!(disk.wwn)),
        ("hctl", json!(disk.hctl)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_an_entry_and_what_is_not_known_is_left_out() {
        let inventory: HostInventory = serde_json::from_value(json!({
            "hostname": "node-1",
            "cpu": {"count": 8, "architecture": "x86_64", "flags": ["vmx"], "clockMegahertz": 2400},
            "memory": {"physicalBytes": 17_179_869_184_i64},
            "systemVendor": {"manufacturer": "ACME"},
            "interfaces": [
                {"name": "eth0", "macAddress": "52:54:00:aa:00:01", "ipV4Addresses": ["192.0.2.7/24"],
                 "ipV6Addresses": ["2001:db8::7/64"], "flags": [], "speedMbps": 25_000},
                {"name": "eth1", "macAddress": "52:54:00:aa:00:02", "ipV4Addresses": [], "ipV6Addresses": [], "flags": []},
            ],
            "disks": [
                {"id": "a", "name": "nvme0n1", "path": "/dev/nvme0n1", "driveType": "SSD", "sizeBytes": 1000},
                {"id": "b", "name": "sda", "path": "/dev/sda", "byPath": "/dev/disk/by-path/x", "driveType": "HDD"},
                {"id": "c", "name": "dm-0", "path": "/dev/dm-0", "driveType": "Multipath"},
            ],
        }))
        .unwrap();
        let details: Value = serde_json::from_str(&details(&inventory)).unwrap();
        assert_eq!(
            details,
            json!({
                "hostname": "node-1", "ramMebibytes": 16384,
                "systemVendor": {"manufacturer": "ACME"},
                "cpu": {"arch": "x86_64", "count": 8, "flags": ["vmx"], "clockMegahertz": 2400},
                "nics": [
                    {"name": "eth0", "mac": "52:54:00:aa:00:01", "ip": "192.0.2.7", "speedGbps": 25},
                    {"name": "eth0", "mac": "52:54:00:aa:00:01", "ip": "2001:db8::7", "speedGbps": 25},
                    {"name": "eth1", "mac": "52:54:00:aa:00:02"},
                ],
                "storage": [
                    {"name": "/dev/nvme0n1", "type": "NVME", "rotational": false, "sizeBytes": 1000},
                    {"name": "/dev/disk/by-path/x", "type": "HDD", "rotational": true},
                    {"name": "/dev/dm-0", "rotational": false},
                ],
            })
        );
    }
}
