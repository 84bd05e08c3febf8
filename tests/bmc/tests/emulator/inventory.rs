use serde_json::{Value, json};

use crate::client::{Client, Lab, text};
use muster_bmc_emulator::quirks::Systems;

/// Follows every link from the root; returns all resources.
pub fn crawl(client: &Client) -> Vec<Value> {
    let mut paths = vec!["/redfish/v1".to_owned()];
    let mut found = Vec::new();
    while let Some(path) = paths.get(found.len()).cloned() {
        let resource = client.get(&path).json(200);
        collect_links(&resource, &mut paths);
        found.push(resource);
    }
    found
}

fn collect_links(value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(link) if name == "@odata.id" => {
                        let link = link.trim_end_matches('/').to_owned();
                        if !paths.contains(&link) {
                            paths.push(link);
                        }
                    }
                    other => collect_links(other, paths),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_links(item, paths)),
        _ => {}
    }
}

#[test]
fn every_link_leads_to_a_resource_with_that_id_and_a_tag() {
    let lab = Lab::new(|_| {});
    let found = crawl(&lab.client);
    assert!(found.len() > 20, "{}", found.len());
    for resource in &found {
        assert!(resource["@odata.id"].is_string(), "{resource}");
        assert!(resource["@odata.etag"].is_string(), "{resource}");
    }
    let kinds: Vec<&str> = found
        .iter()
        .filter_map(|found| found["@odata.type"].as_str())
        .collect();
    for kind in [
        "EthernetInterface",
        "Processor",
        "Memory",
        "Drive",
        "VirtualMedia",
        "Chassis",
        "Manager",
        "SoftwareInventory",
    ] {
        let is_there = kinds.iter().any(|found| found.ends_with(&format!(".{kind}")));
        assert!(is_there, "no {kind} in {kinds:?}");
    }
}

#[test]
fn the_system_tells_the_machine() {
    let lab = Lab::running(|_| {});
    let system = lab.system();
    assert_eq!(system["UUID"], "30000000-0000-4000-8000-000000000001");
    assert_eq!(
        (&system["SerialNumber"], &system["PowerState"]),
        (&"SN0001".into(), &"On".into())
    );
    assert_eq!(system["BootProgress"]["LastState"], "OSRunning");
    assert_eq!(system["MemorySummary"]["TotalSystemMemoryGiB"], 8);
    let card = lab
        .client
        .get(&format!("{}/EthernetInterfaces/2", lab.system_path()))
        .json(200);
    assert_eq!(card["MACAddress"], "d0:94:66:00:01:02");
}

#[test]
fn identities_are_told_in_odd_ways() {
    let lab = Lab::running(|quirks| {
        quirks.serial_in_sku = true;
        quirks.swapped_uuid = true;
        quirks.odd_macs = true;
    });
    let system = lab.system();
    assert_eq!(
        (&system["SKU"], &system["SerialNumber"]),
        (&"SN0001".into(), &"BOARDSN0001".into())
    );
    assert_eq!(system["UUID"], "00000030-0000-0040-8000-000000000001");
    let cards = format!("{}/EthernetInterfaces", lab.system_path());
    assert_eq!(
        lab.client.get(&format!("{cards}/1")).json(200)["MACAddress"],
        "D0:94:66:00:01:01"
    );
    assert_eq!(lab.client.get(&format!("{cards}/3")).json(200)["MACAddress"], "");
}

#[test]
fn inventory_that_needs_power_is_empty_while_the_machine_is_off() {
    let lab = Lab::new(|quirks| {
        quirks.inventory_needs_power = true;
        quirks.null_members = true;
    });
    assert_eq!(lab.system()["MemorySummary"]["TotalSystemMemoryGiB"], 0);
    let drives = format!("{}/Storage/1/Drives", lab.system_path());
    assert_eq!(lab.client.get(&drives).json(200)["Members"], Value::Null);
    lab.reset("On").expect(204);
    assert_eq!(lab.system()["MemorySummary"]["TotalSystemMemoryGiB"], 8);
    assert_eq!(
        lab.client.get(&drives).json(200)["Members"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn what_a_bmc_lacks_is_neither_linked_nor_there() {
    let lab = Lab::new(|quirks| {
        quirks.no_managed_by = true;
        quirks.no_ethernet_interfaces = true;
    });
    let system = lab.system();
    assert_eq!(system["Links"].get("ManagedBy"), None);
    assert_eq!(system.get("EthernetInterfaces"), None);
    let path = format!("{}/EthernetInterfaces", lab.system_path());
    lab.client.get(&path).refused(404, "ResourceMissingAtURI", "");
}

#[test]
fn a_second_system_is_a_baseboard_or_looks_as_good_as_the_machine() {
    let lab = Lab::new(|quirks| quirks.several_systems = Systems::WithBaseboard);
    let first = |lab: &Lab| {
        let all = lab.client.get("/redfish/v1/Systems").json(200);
        assert_eq!(all["Members@odata.count"], 2);
        lab.client.get(&text(&all["Members"][0]["@odata.id"])).json(200)
    };
    let baseboard = first(&lab);
    assert_eq!((baseboard.get("Boot"), baseboard.get("Actions")), (None, None));
    lab.emulator
        .change(|quirks| quirks.several_systems = Systems::Two);
    let other = first(&lab);
    assert_eq!(other["SystemType"], "Physical");
    let target = text(&other["Actions"]["#ComputerSystem.Reset"]["target"]);
    let reply = lab.client.post(&target, &json!({"ResetType": "On"}));
    assert_eq!(reply.status, 404);
    assert!(lab.machine.boots().is_empty());
}

#[test]
fn links_end_with_a_slash_and_work_so() {
    let lab = Lab::new(|quirks| quirks.slashes = true);
    assert!(lab.system_path().ends_with('/'), "{}", lab.system_path());
    lab.reset("On").expect(204);
    assert_eq!(lab.machine.boots().len(), 1);
}

#[test]
fn a_method_that_a_resource_does_not_have_is_405() {
    let lab = Lab::new(|_| {});
    let reply = lab
        .client
        .patch("/redfish/v1/Chassis/1U", &json!({"AssetTag": "x"}));
    reply.refused(405, "OperationNotAllowed", "");
}
