//! One machine as the reference agent reported it, and as ours does: equal, field for field.
//!
//! The recordings and the machine: `tests/data/reference_machine/` and its README.

use muster_tests::condition::await_condition;
use muster_tests::evidence::recorder::Recorder;
use muster_tests::qemu::{Firmware, GIB, Machine, Medium, Nic, Running, UserNet};
use muster_tests::segment::in_segment;
use muster_tests::service::Settings;
use serde_json::Value;

use muster_tests::discovery::Discovery;

const RECORDED_BIOS: &str = include_str!("../../data/reference_machine/inventory-bios.json");
const RECORDED_UEFI: &str = include_str!("../../data/reference_machine/inventory-uefi.json");

#[test]
fn the_reference_machine_under_seabios_reports_the_recorded_inventory() {
    compare(Firmware::SeaBios, RECORDED_BIOS, &[]);
}

/// The recording has no kernel arguments, so they may request something else.
#[test]
fn the_reference_machine_under_ovmf_reports_the_recorded_inventory_and_has_a_rescue_shell_on_the_serial_line_that_the_user_named()
 {
    compare(
        Firmware::Ovmf,
        RECORDED_UEFI,
        &["muster.rescue", "console=ttyS0,115200n8"],
    );
}

/// In a namespace that leads nowhere: each card has a default route, as recorded, and only the first finds
/// the service. With kernel arguments the machine has a rescue shell.
fn compare(firmware: Firmware, recorded: &str, arguments: &[&str]) {
    in_segment(|_| compare_isolated(firmware, recorded, arguments));
}

fn compare_isolated(firmware: Firmware, recorded: &str, arguments: &[&str]) {
    // The agent's requests, not the service's data.
    let listener = Recorder::reserve();
    let discovery = Discovery::on(Settings::for_user_networks().public_port(listener.port()));
    discovery.append(arguments);
    let recorder = listener.relay_to(discovery.service.port());
    let mut machine = reference_machine(firmware, Medium::CdOn("sata.1".to_owned(), discovery.iso())).start();
    let sent = sent_inventory(&recorder, &mut machine);
    if !arguments.is_empty() {
        assert_has_rescue_shell(&mut machine, sent["boot"]["command_line"].as_str().unwrap());
    }
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let differences = differences(&comparable(sent), &comparable(recorded));
    assert!(
        differences.is_empty(),
        "{} differs (ours / recorded):\n{}",
        firmware.name(),
        differences.join("\n")
    );
}

#[track_caller]
fn assert_has_rescue_shell(machine: &mut Running, command_line: &str) {
    machine.await_serial("(rescue# )");
    let consoles: Vec<&str> = command_line
        .split_whitespace()
        .filter(|word| word.starts_with("console="))
        .collect();
    assert_eq!(
        consoles,
        ["console=tty0", "console=ttyS0,115200n8"],
        "{command_line}"
    );
}

/// As recorded in tests/data/reference_machine/README.md: PCI addresses follow the order.
fn reference_machine(firmware: Firmware, medium: Medium) -> Machine {
    let system = "type=1,manufacturer=AcmeCorp,product=Rack-1000,version=v2,serial=ACME-0001,uuid=11111111-2222-4333-8444-555555555555,sku=SKU9,family=Fam";
    let sata = "ide-hd,bus=sata.0,serial=SER-B,model=ACME-SATA,wwn=0x5000c500a0b0c0d1,rotation_rate=7200";
    let scsi =
        "scsi-hd,bus=scsi.0,scsi-id=2,lun=1,serial=SER-C,vendor=ACME,product=SCSI-3,wwn=0x5000c500a0b0c0d2";
    let mac = |last: u8| format!("52:54:00:aa:00:{last:02x}");
    let first = UserNet::new(2).ipv6_prefix("fd00:2::").hostname("gold");
    Machine::new("reference machine")
        .firmware(firmware)
        .boot(medium)
        .cpu_model("Nehalem")
        .cpus("2,sockets=1,cores=2,threads=1")
        .memory_mib(2048)
        .smbios(system)
        .smbios("type=2,manufacturer=AcmeBoard,product=Board-7,serial=BOARD-0001")
        .smbios("type=3,manufacturer=AcmeCase,serial=CASE-1,asset=ASSET-1")
        .device("ahci,id=sata")
        .disk_device("virtio-blk-pci,serial=SER-A", 2 * GIB)
        .disk_device(sata, GIB)
        .device("virtio-scsi-pci,id=scsi")
        .disk_device(scsi, 3 * GIB)
        .disk_device("nvme,serial=SER-N", GIB)
        .device("qemu-xhci,id=usb")
        .disk_device("usb-storage,bus=usb.0,serial=SER-U,removable=on", GIB)
        .nic(Nic::user("virtio-net-pci", &mac(1), first))
        .nic(Nic::user("e1000e", &mac(2), UserNet::new(3)))
        .nic(Nic::user("vmxnet3", &mac(3), UserNet::new(4)))
        .device("virtio-rng-pci")
        .device("virtio-vga")
}

/// The first inventory in which every card has its address, and the USB disk is there: both may come after the first report.
fn sent_inventory(recorder: &Recorder, machine: &mut Running) -> Value {
    await_condition(
        "an inventory with every address and disk",
        machine.time_left(),
        || {
            assert!(machine.is_on(), "the machine switched itself off");
            let replies = recorder
                .requests()
                .into_iter()
                .filter(|request| request.body["step_type"] == "inventory");
            let mut last = Err("none".to_owned());
            for reply in replies {
                let inventory: Value =
                    serde_json::from_str(reply.body["output"].as_str().unwrap_or_default()).unwrap();
                let text = inventory.to_string();
                // Links come up in any order.
                let late = ["10.0.2.15", "10.0.3.15", "10.0.4.15", "fd00:2::5054", "SER-U"];
                if late.iter().all(|what| text.contains(what)) {
                    return Ok(inventory);
                }
                last = Err(text);
            }
            last
        },
    )
}

/// Without the exceptions of tests/data/reference_machine/README.md, and with lists in an order of their own
/// where order means nothing.
fn comparable(mut inventory: Value) -> Value {
    // Additive.
    remove(&mut inventory, &["problems"]);
    remove(&mut inventory["boot"], &["command_line"]);
    // Reported if the kernel knows it; the recording has none.
    remove(&mut inventory["cpu"], &["frequency"]);
    remove(&mut inventory["memory"], &["usable_bytes"]);
    let disks = list(&mut inventory["disks"]);
    for disk in disks.iter_mut() {
        if let Some(hctl) = disk["hctl"].as_str().and_then(|hctl| hctl.split_once(':')) {
            disk["hctl"] = Value::from(format!("N:{}", hctl.1));
        }
        if disk["serial"] == "SER-B" || disk["serial"] == "SER-C" {
            // Which of the two is sda is the kernel's choice; that they are sda and sdb is not.
            for key in ["name", "path"] {
                let name = disk[key].as_str().unwrap_or_default();
                let either = name
                    .strip_suffix(['a', 'b'])
                    .map(|stem| format!("{stem}a or {stem}b"));
                disk[key] = Value::from(either.unwrap_or_else(|| name.to_owned()));
            }
        }
        if disk["drive_type"] == "ODD" {
            // Empty in the recording; here it holds the medium.
            let medium = [
                "bootable",
                "has_uuid",
                "installation_eligibility",
                "is_installation_media",
                "partitionTypes",
                "size_bytes",
            ];
            remove(disk, &medium);
        }
    }
    disks.sort_by_key(|disk| disk["serial"].to_string());
    list(&mut inventory["interfaces"]).sort_by_key(|interface| interface["name"].to_string());
    let routes = list(&mut inventory["routes"]);
    routes.iter_mut().for_each(|route| remove(route, &["metric"]));
    routes.sort_by_key(Value::to_string);
    inventory
}

fn remove(object: &mut Value, keys: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        keys.iter().for_each(|key| drop(object.remove(*key)));
    }
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().unwrap()
}

/// Every path with different values.
fn differences(ours: &Value, recorded: &Value) -> Vec<String> {
    let (ours, recorded) = (leaves("", ours), leaves("", recorded));
    let value = |leaves: &[(String, String)], path: &str| {
        leaves
            .iter()
            .find(|leaf| leaf.0 == path)
            .map_or("absent".to_owned(), |leaf| leaf.1.clone())
    };
    let mut paths: Vec<&String> = ours.iter().chain(&recorded).map(|leaf| &leaf.0).collect();
    paths.sort();
    paths.dedup();
    let pairs = paths
        .into_iter()
        .map(|path| (path, value(&ours, path), value(&recorded, path)));
    pairs
        .filter(|(_, ours, recorded)| ours != recorded)
        .map(|(path, ours, recorded)| format!("{path}: {ours} / {recorded}"))
        .collect()
}

fn leaves(path: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| leaves(&format!("{path}.{key}"), value))
            .collect(),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let named = |index: usize, item: &Value| {
                let name = ["serial", "name", "destination"]
                    .iter()
                    .find_map(|key| item[*key].as_str());
                format!("{path}[{index} {}]", name.unwrap_or_default())
            };
            items
                .iter()
                .enumerate()
                .flat_map(|(index, item)| leaves(&named(index, item), item))
                .collect()
        }
        other => vec![(path.to_owned(), other.to_string())],
    }
}

#[test]
fn a_comparison_with_the_reference_finds_what_differs_and_forgives_only_the_exceptions() {
    let recorded: Value = serde_json::from_str(RECORDED_BIOS).unwrap();
    let mut ours = recorded.clone();
    ours["boot"]["command_line"] = "else".into();
    ours["disks"].as_array_mut().unwrap().reverse();
    assert_eq!(
        differences(&comparable(ours.clone()), &comparable(recorded.clone())),
        [""; 0]
    );
    ours["hostname"] = "else".into();
    ours["disks"][0]["size_bytes"] = 1.into();
    let found = differences(&comparable(ours), &comparable(recorded));
    assert_eq!(found.len(), 2, "{found:?}");
}
