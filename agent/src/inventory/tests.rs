use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::{Map, Value};

use super::*;
use crate::host;
use crate::inventory::disks::links;
use crate::net::predictable_names;
use crate::testing::Machine;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn captured(name: &str) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let file = std::fs::File::open(fixture(name)).unwrap();
    tar::Archive::new(GzDecoder::new(file))
        .unpack(dir.path())
        .unwrap();
    let root = Root::tree(dir.path()).unwrap();
    (dir, root)
}

fn differences(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let get = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                // A list that is missing and one that is null are the same to the protocol, a scalar is not.
                if a.contains_key(key) != b.contains_key(key) {
                    found.push(format!(
                        "{path}.{key}: {:?} there, {:?} here",
                        a.get(key),
                        b.get(key)
                    ));
                }
                differences(&format!("{path}.{key}"), &get(a), &get(b), found);
            }
        }
        _ if theirs == ours => {}
        _ => found.push(format!("{path}: {theirs} there, {ours} here")),
    }
}

/// The exceptions that agent/fixtures/machine.md lists, and lists keyed by the names of their entries (order means nothing).
fn comparable(inventory: &Value) -> Value {
    let mut value = inventory.clone();
    value["boot"].as_object_mut().unwrap().remove("command_line");
    value["memory"].as_object_mut().unwrap().remove("usable_bytes");
    // Additive.
    value.as_object_mut().unwrap().remove("problems");
    value["cpu"].as_object_mut().unwrap().remove("frequency");
    for disk in value["disks"].as_array_mut().unwrap() {
        let disk = disk.as_object_mut().unwrap();
        if let Some(Value::String(hctl)) = disk.get_mut("hctl") {
            *hctl = hctl.split_once(':').unwrap().1.to_owned();
        }
        if matches!(disk["serial"].as_str(), Some("SER-B" | "SER-C")) {
            disk.retain(|key, _| key != "name" && key != "path");
        }
    }
    for route in value["routes"].as_array_mut().unwrap() {
        route.as_object_mut().unwrap().remove("metric");
    }
    for (list, keys) in [
        ("disks", &["serial"][..]),
        ("interfaces", &["name"]),
        ("routes", &["family", "destination", "gateway", "interface"]),
    ] {
        let entries = value[list].as_array().unwrap();
        let count = entries.len();
        let by_key: Map<String, Value> = entries
            .iter()
            .map(|entry| {
                (
                    keys.iter().map(|key| format!("{} ", entry[key])).collect(),
                    entry.clone(),
                )
            })
            .collect();
        assert_eq!(by_key.len(), count, "two {list} with one key");
        value[list] = Value::Object(by_key);
    }
    value
}

fn reports_as_recorded(capture: &str, recorded: &str) {
    let (_dir, root) = captured(capture);
    let collected = collect(&root, Options::default());
    assert_eq!(collected.problems, [], "everything is known of this machine");
    let ours = serde_json::to_value(&collected.inventory).unwrap();
    let theirs: Value = serde_json::from_slice(&std::fs::read(fixture(recorded)).unwrap()).unwrap();
    let mut found = Vec::new();
    differences("", &comparable(&theirs), &comparable(&ours), &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Outside of the comparison above.
    let mut names: Vec<&str> = collected
        .inventory
        .disks
        .iter()
        .map(|disk| disk.name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["nvme0n1", "sda", "sdb", "sdc", "sr0", "vda"]);
    let memory = collected.inventory.memory.as_ref().unwrap();
    assert!(
        (1_900_000_000..2 << 30).contains(&memory.usable_bytes),
        "{memory:?}"
    );
    assert!(ours["boot"]["command_line"].as_str().unwrap().ends_with('\n'));
}

#[test]
fn the_recorded_machine_under_bios_is_reported_field_for_field() {
    reports_as_recorded("machine-bios.tar.gz", "inventory-bios.json");
}

#[test]
fn the_recorded_machine_under_uefi_is_reported_field_for_field() {
    reports_as_recorded("machine-uefi.tar.gz", "inventory-uefi.json");
}

#[test]
fn the_recorded_machine_has_predictable_names_a_host_id_and_links_for_its_disks() {
    for capture in ["machine-bios.tar.gz", "machine-uefi.tar.gz"] {
        let (_dir, root) = captured(capture);
        let mut names: Vec<Option<String>> = predictable_names::names(&root)
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        names.sort();
        let expected = [None, Some("enp0s6"), Some("enp0s7"), Some("enp0s8")];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
        let interfaces = collect(&root, Options::default()).inventory.interfaces;
        // MD5 of BOARD-0001.
        let id = host::id::compute(&root, &interfaces).to_string();
        assert_eq!(id, "b87a8be6-6a30-492d-9280-eb5236a827fd");
        let links: Vec<String> = links::plan(&root)
            .links
            .into_iter()
            .map(|(link, _)| link)
            .collect();
        for link in [
            "/dev/disk/by-id/ata-ACME-SATA_SER-B",
            "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_SER-N",
            "/dev/disk/by-id/nvme-nvme.1b36-5345522d4e-51454d55204e564d65204374726c-00000001",
            "/dev/disk/by-id/usb-QEMU_QEMU_HARDDISK_SER-U-0:0",
            "/dev/disk/by-id/virtio-SER-A",
            "/dev/disk/by-id/wwn-0x5000c500a0b0c0d1",
            "/dev/disk/by-id/wwn-0x5000c500a0b0c0d2",
            "/dev/disk/by-path/pci-0000:00:01.0-ata-1",
            "/dev/disk/by-path/pci-0000:00:01.0-ata-1.0",
            "/dev/disk/by-path/virtio-pci-0000:00:02.0",
        ] {
            assert!(links.iter().any(|found| found == link), "no {link} in {links:#?}");
        }
    }
}

#[test]
fn a_cloud_machine_without_dmi_and_udev_is_reported_with_what_is_missing() {
    let (_dir, root) = captured("host-epyc-vm.tar.gz");
    let Collected { inventory, problems } = collect(&root, Options::default());
    let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["memory.physical_bytes"], "{problems:?}");
    assert_eq!(inventory.cpu.unwrap().model_name, "AMD EPYC");
    let vendor = inventory.system_vendor.unwrap();
    assert_eq!(
        (vendor.manufacturer.as_str(), vendor.is_virtual),
        ("unknown", true)
    );
    let memory = inventory.memory.unwrap();
    assert!(
        memory.physical_bytes >= memory.usable_bytes && memory.usable_bytes > 20 << 30,
        "{memory:?}"
    );
    let names: Vec<&str> = inventory
        .interfaces
        .iter()
        .map(|interface| interface.name.as_str())
        .collect();
    assert_eq!(names, ["lo", "ifb0", "ifb1", "eth0"]);
    assert_eq!(inventory.disks.len(), 1);
    assert_eq!(
        inventory.disks[0].installation_eligibility.not_eligible_reasons,
        ["The disk is mounted at /"]
    );
}

#[test]
fn the_same_machine_gives_the_same_text() {
    let (_dir, root) = captured("machine-bios.tar.gz");
    let text = || serde_json::to_string(&collect(&root, Options::default()).inventory).unwrap();
    assert_eq!(text(), text());
}

#[test]
fn the_interfaces_alone_are_those_of_the_whole() {
    let (_dir, root) = captured("machine-bios.tar.gz");
    let alone = interfaces(&root);
    assert!(!alone.is_empty());
    assert_eq!(alone, collect(&root, Options::default()).inventory.interfaces);
}

#[test]
fn a_machine_of_which_nothing_can_be_read_still_has_an_inventory_and_reasons() {
    let collected = collect(&Machine::new().root(), Options::default());
    for field in [
        "interfaces",
        "disks",
        "cpu",
        "hostname",
        "memory.usable_bytes",
        "boot.command_line",
    ] {
        assert!(
            collected.problems.iter().any(|problem| problem.field == field),
            "{field}: {:?}",
            collected.problems
        );
    }
    assert_eq!(collected.inventory.tpm_version, "none");
    assert_eq!(collected.inventory.bmc_address, "0.0.0.0");
    let text = serde_json::to_string(&collected.inventory).unwrap();
    assert!(text.contains("\"disks\":[]"), "{text}");
}

#[test]
fn small_disks_are_left_out_when_the_text_would_be_too_long() {
    let (_dir, root) = captured("machine-bios.tar.gz");
    let whole = collect(&root, Options::default()).inventory;
    let length = serde_json::to_string(&whole).unwrap().len() as u64;
    let roomy = collect(
        &root,
        Options {
            disk_min_size: 2 << 30,
            output_max_size: length,
        },
    )
    .inventory;
    assert_eq!(roomy, whole);
    let tight = collect(
        &root,
        Options {
            disk_min_size: 2 << 30,
            output_max_size: length - 1,
        },
    )
    .inventory;
    assert_eq!(tight.disks.len(), 2);
    assert_eq!(tight.truncation.unwrap().kind, "partial");
    let tiny = collect(
        &root,
        Options {
            disk_min_size: 1,
            output_max_size: 100,
        },
    )
    .inventory;
    assert_eq!(tiny.disks.len(), 0);
    assert_eq!(tiny.truncation.unwrap().kind, "full");
}

#[test]
fn arguments_that_are_not_known_say_nothing() {
    let options = Options::from_arguments([
        "--disk-min-size=5",
        "--new-thing=1",
        "--output-max-size=x",
        "plain",
    ]);
    assert_eq!(
        options,
        Options {
            disk_min_size: 5,
            output_max_size: 0
        }
    );
}

#[test]
fn the_fifth_byte_is_the_state_of_secure_boot() {
    let variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    for (bytes, state) in [
        (&[6, 0, 0, 0, 1][..], "Enabled"),
        (&[6, 0, 0, 0, 0], "Disabled"),
        (&[6, 0, 0, 0, 7], "Unknown"),
        (&[6, 0, 0], "Unknown"),
    ] {
        let machine = Machine::new().file(variable, bytes);
        let boot = collect(&machine.root(), Options::default())
            .inventory
            .boot
            .unwrap();
        assert_eq!(
            (boot.secure_boot_state.as_str(), boot.current_boot_mode.as_str()),
            (state, "uefi")
        );
    }
    let other = Machine::new().file("/sys/firmware/efi/efivars/BootOrder-x", "");
    assert_eq!(
        collect(&other.root(), Options::default())
            .inventory
            .boot
            .unwrap()
            .secure_boot_state,
        "NotSupported"
    );
}

#[test]
fn memory_falls_back_to_blocks_and_then_to_what_the_kernel_has() {
    let base = || Machine::new().file("/proc/meminfo", "MemTotal:        1000 kB\n");
    let memory = |machine: Machine| {
        collect(&machine.root(), Options::default())
            .inventory
            .memory
            .unwrap()
    };
    let blocks = memory(
        base()
            .file("/sys/devices/system/memory/block_size_bytes", "8000000\n")
            .file("/sys/devices/system/memory/memory0/state", "online\n")
            .file("/sys/devices/system/memory/memory1/state", "offline\n")
            .file("/sys/firmware/dmi/tables/DMI", [0xff; 40]),
    );
    assert_eq!(
        (blocks.physical_bytes, blocks.physical_bytes_method.as_str()),
        (128 << 20, "ghw")
    );
    let bare = memory(base());
    assert_eq!(
        (bare.physical_bytes, bare.physical_bytes_method.as_str()),
        (1_024_000, "meminfo")
    );
}

#[test]
fn tpm_versions_are_spelled_as_the_protocol_does() {
    for (major, version) in [("1", "1.2"), ("2", "2.0"), ("3", "3")] {
        let machine = Machine::new().file("/sys/class/tpm/tpm0/tpm_version_major", format!("{major}\n"));
        assert_eq!(
            collect(&machine.root(), Options::default()).inventory.tpm_version,
            version
        );
    }
}

#[test]
fn problems_are_reported_with_the_inventory_and_have_an_end() {
    let problem = |number: usize| Problem {
        field: format!("disks.sd{number}"),
        reason: "ü".repeat(1000),
    };
    let problems: Vec<Problem> = (0..1000).map(problem).collect();
    let reported = reported(&problems);
    assert_eq!(reported.len(), MOST_PROBLEMS);
    assert_eq!(reported[1].subject, "disks.sd1");
    assert!(reported.iter().all(|one| one.reason.len() <= LONGEST_REASON));

    let (_dir, root) = captured("machine-bios.tar.gz");
    let collected = collect(&root, Options::default());
    let told = &collected.inventory.problems;
    assert_eq!(told.len(), collected.problems.len());
}
