use std::collections::HashSet;

use super::walk::Walk;
use super::{Drive, Firmware, Inventory, Nic, Processor};
use crate::connection::{Link, Resource};
use crate::json;
use crate::machine::find::Machine;
use crate::matching::mac;

/// Reads the parts of a system, the most important ones first.
pub(super) async fn fill(
    walk: &mut Walk<'_>,
    machine: &Machine,
    system: &Resource,
    inventory: &mut Inventory,
) {
    let chassis = walk.references(system, "/Links/Chassis").await;
    // OpenBMC names a machine at its chassis alone.
    let named = |pointer: &str| chassis.iter().find_map(|one| one.text(pointer));
    inventory.vendor = inventory.vendor.take().or_else(|| named("/Manufacturer"));
    inventory.model = inventory.model.take().or_else(|| named("/Model"));
    inventory.nics = nics(walk, machine, system, &chassis).await;
    inventory.processors = processors(walk, system).await;
    inventory.memory.gib = memory(walk, system).await;
    inventory.drives = drives(walk, system).await;
    let secure = walk.follow(system, "/SecureBoot").await;
    inventory.secure_boot = secure.and_then(|secure| json::flag(&secure.value, "/SecureBootEnable"));
    let serials = chassis.iter().filter_map(|one| one.text("/SerialNumber"));
    for serial in serials {
        let known = inventory.serial.as_ref() == Some(&serial) || inventory.other_serials.contains(&serial);
        if !known {
            inventory.other_serials.push(serial);
        }
    }
    inventory.firmware = firmware(walk).await;
}

async fn nics(walk: &mut Walk<'_>, machine: &Machine, system: &Resource, chassis: &[Resource]) -> Vec<Nic> {
    let to_bmc = to_bmc(walk, machine).await;
    let mut nics: Vec<Nic> = Vec::new();
    let mut links = walk.member_links(system, "/EthernetInterfaces").await;
    links.retain(|link| !to_bmc.contains(link));
    for one in walk.all(links).await {
        add(&mut nics, nic(&one, ""));
    }
    for chassis in chassis {
        for adapter in walk.members(chassis, "/NetworkAdapters").await {
            for function in walk.members(&adapter, "/NetworkDeviceFunctions").await {
                add(&mut nics, nic(&function, "/Ethernet"));
            }
        }
    }
    nics
}

/// The interfaces between the machine and its BMC.
async fn to_bmc(walk: &mut Walk<'_>, machine: &Machine) -> HashSet<Link> {
    let mut links = HashSet::new();
    for manager in walk.all(machine.managers.clone()).await {
        for host_interface in walk.members(&manager, "/HostInterfaces").await {
            links.extend(
                walk.member_links(&host_interface, "/HostEthernetInterfaces")
                    .await,
            );
        }
    }
    links
}

fn nic(resource: &Resource, at: &str) -> Option<Nic> {
    let address = |name: &str| resource.text(&format!("{at}/{name}")).and_then(|text| mac(&text));
    let (used, permanent) = (address("MACAddress"), address("PermanentMACAddress"));
    let shown = used.clone().or_else(|| permanent.clone())?;
    Some(Nic {
        name: resource
            .text("/Id")
            .or_else(|| resource.text("/Name"))
            .unwrap_or_default(),
        permanent_mac: permanent.filter(|permanent| *permanent != shown),
        mac: shown,
        // Zero is that of a port without a link.
        speed_mbps: whole(resource, "/SpeedMbps").filter(|mbps| *mbps > 0),
        link: resource.text("/LinkStatus"),
    })
}

/// BMCs report the same card at two places.
fn add(nics: &mut Vec<Nic>, nic: Option<Nic>) {
    if let Some(nic) = nic
        && !nics.iter().any(|known| known.mac == nic.mac)
    {
        nics.push(nic);
    }
}

async fn processors(walk: &mut Walk<'_>, system: &Resource) -> Vec<Processor> {
    let all = walk.members(system, "/Processors").await;
    let sockets = all.iter().filter(|one| {
        let kind = one.text("/ProcessorType");
        is_there(one) && kind.is_none_or(|kind| kind == "CPU")
    });
    let found: Vec<Processor> = sockets
        .map(|one| Processor {
            model: one.text("/Model").or_else(|| one.text("/Version")),
            cores: whole(one, "/TotalCores"),
            threads: whole(one, "/TotalThreads"),
            instruction_set: one.text("/InstructionSet"),
        })
        .collect();
    match found.is_empty() {
        true => summary(system),
        false => found,
    }
}

/// The processors by their summary: cores and threads are those of all sockets together.
fn summary(system: &Resource) -> Vec<Processor> {
    let count = whole::<u32>(system, "/ProcessorSummary/Count")
        .unwrap_or_default()
        .min(64);
    let share = |pointer| whole(system, pointer).map(|all: u32| all / count.max(1));
    let one = Processor {
        model: system.text("/ProcessorSummary/Model"),
        cores: share("/ProcessorSummary/CoreCount"),
        threads: share("/ProcessorSummary/LogicalProcessorCount"),
        instruction_set: None,
    };
    vec![one; count as usize]
}

async fn memory(walk: &mut Walk<'_>, system: &Resource) -> Option<f64> {
    let summary = json::number(&system.value, "/MemorySummary/TotalSystemMemoryGiB");
    if let Some(gib) = summary.filter(|gib| *gib > 0.0) {
        return Some(gib);
    }
    let modules = walk.members(system, "/Memory").await;
    let present = modules.iter().filter(|one| is_there(one));
    let mib: f64 = present
        .filter_map(|one| json::number(&one.value, "/CapacityMiB"))
        .sum();
    (mib > 0.0).then_some(mib / 1024.0)
}

async fn drives(walk: &mut Walk<'_>, system: &Resource) -> Vec<Drive> {
    let mut drives = Vec::new();
    for storage in walk.members(system, "/Storage").await {
        for drive in walk.references(&storage, "/Drives").await {
            if is_there(&drive) {
                drives.push(Drive {
                    name: drive
                        .text("/Name")
                        .or_else(|| drive.text("/Id"))
                        .unwrap_or_default(),
                    model: drive.text("/Model"),
                    serial: drive.text("/SerialNumber"),
                    bytes: whole(&drive, "/CapacityBytes"),
                    media: drive.text("/MediaType"),
                    protocol: drive.text("/Protocol"),
                });
            }
        }
    }
    if drives.is_empty() {
        for storage in walk.members(system, "/SimpleStorage").await {
            let devices = json::list(&storage.value, "/Devices").iter();
            drives.extend(devices.map(|device| Drive {
                name: json::text(device, "/Name").unwrap_or_default(),
                model: json::text(device, "/Model"),
                bytes: json::number(device, "/CapacityBytes").map(|bytes| bytes as u64),
                ..Drive::default()
            }));
        }
    }
    drives
}

async fn firmware(walk: &mut Walk<'_>) -> Vec<Firmware> {
    let Some(service) = walk.at_root("/UpdateService").await else {
        return Vec::new();
    };
    let all = walk.members(&service, "/FirmwareInventory").await;
    let versions = all.iter().filter_map(|one| {
        Some(Firmware {
            name: one.text("/Name").or_else(|| one.text("/Id"))?,
            version: one.text("/Version")?,
        })
    });
    versions.collect()
}

/// False for an empty socket or bay.
fn is_there(resource: &Resource) -> bool {
    resource.text("/Status/State").as_deref() != Some("Absent")
}

fn whole<N: TryFrom<u64>>(resource: &Resource, pointer: &str) -> Option<N> {
    let number = json::number(&resource.value, pointer)?;
    N::try_from(number as u64).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use url::Url;

    use super::*;

    fn resource(value: Value) -> Resource {
        let base = Url::parse("https://192.0.2.1/").unwrap();
        Resource::new(Link::new(&base, "/1").unwrap(), value, None, None)
    }

    #[test]
    fn a_card_is_read_at_both_places_and_once() {
        let mut nics = Vec::new();
        let interface = json!({"Id": "NIC.1", "MACAddress": "AA-BB-CC-00-11-22", "SpeedMbps": null, "LinkStatus": "LinkUp"});
        add(&mut nics, nic(&resource(interface), ""));
        let function = json!({"Ethernet": {"MACAddress": "aa:bb:cc:00:11:22", "PermanentMACAddress": "aa:bb:cc:00:11:23"}});
        add(&mut nics, nic(&resource(function), "/Ethernet"));
        add(&mut nics, nic(&resource(json!({"MACAddress": ""})), ""));
        assert_eq!(nics.len(), 1);
        assert_eq!(
            (nics[0].mac.as_str(), nics[0].link.as_deref()),
            ("aa:bb:cc:00:11:22", Some("LinkUp"))
        );
    }

    #[test]
    fn processors_are_shared_out_of_the_summary() {
        let system = json!({"ProcessorSummary": {"Count": 2, "CoreCount": 32, "LogicalProcessorCount": 64, "Model": "M"}});
        let processors = summary(&resource(system));
        assert_eq!(
            (processors.len(), processors[0].cores, processors[0].threads),
            (2, Some(16), Some(32))
        );
        assert_eq!(
            summary(&resource(json!({"ProcessorSummary": {"Count": null}}))),
            []
        );
        assert_eq!(
            summary(&resource(json!({"ProcessorSummary": {"Count": 4e9}}))).len(),
            64
        );
    }
}
