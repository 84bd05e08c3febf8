//! `lsblk`, `lscpu` and `ip`, which print JSON.

use std::collections::BTreeSet;
use std::process::Command;

use muster_api::inventory::{Disk, Inventory};
use serde_json::Value;

use super::{Report, udev};
use crate::root::Root;

/// Disks of these names are not installed to, and not in the inventory.
const NO_DISKS: [&str; 5] = ["zram", "loop", "ram", "nbd", "fd"];

pub(super) fn disks(root: &Root, inventory: &Inventory, report: &mut Report) {
    let columns = "NAME,SIZE,TYPE,MODEL,SERIAL,WWN,ROTA,RM";
    if let Some(answer) = json(
        report,
        "lsblk",
        &["--json", "--bytes", "--nodeps", "--output", columns],
    ) {
        compare_disks(inventory, &answer, udev::runs(root), report);
    }
}

pub(super) fn processors(inventory: &Inventory, report: &mut Report) {
    if let Some(answer) = json(report, "lscpu", &["--json"]) {
        compare_processors(inventory, &answer, report);
    }
}

pub(super) fn links(root: &Root, inventory: &Inventory, report: &mut Report) {
    if let Some(answer) = json(report, "ip", &["-json", "link"]) {
        compare_links(root, inventory, &answer, report);
    }
}

fn compare_disks(inventory: &Inventory, answer: &Value, has_udev: bool, report: &mut Report) {
    const TOOL: &str = "lsblk";
    let listed = answer["blockdevices"].as_array().map_or(&[][..], Vec::as_slice);
    for theirs in listed {
        let name = text(&theirs["name"]);
        let is_path = |disk: &&Disk| {
            disk.paths
                .iter()
                .any(|path| path.strip_prefix("/dev/") == Some(name.as_str()))
        };
        let Some(ours) = inventory.disks.iter().find(|disk| disk.name == name) else {
            report.compare(format!("disk {name}"), "", TOOL, &name, || {
                let is_none = NO_DISKS.iter().any(|prefix| name.starts_with(prefix));
                if inventory.disks.iter().any(|disk| is_path(&disk)) {
                    Some("it is another path to a disk")
                } else if is_none || text(&theirs["type"]) != "disk" {
                    Some("it is no disk to install to")
                } else {
                    None
                }
            });
            continue;
        };
        let mut compare = |what: &str, ours: &str, theirs: &str, explanation: Option<&'static str>| {
            report.compare(format!("disk {name}: {what}"), ours, TOOL, theirs, || explanation);
        };
        compare("size", &ours.size_bytes.to_string(), &text(&theirs["size"]), None);
        compare(
            "removable",
            &ours.removable.to_string(),
            &flag(&theirs["rm"]),
            None,
        );
        if ["HDD", "SSD"].contains(&ours.drive_type.as_str()) {
            let rotates = (ours.drive_type == "HDD").to_string();
            let fixed = name.starts_with("nvme") || name.starts_with("mmc");
            let why = fixed.then_some("disks of this kind do not rotate, whatever the kernel reports");
            compare("rotates", &rotates, &flag(&theirs["rota"]), why);
        }
        let unknown = |theirs: &str| {
            (theirs.is_empty() && !has_udev).then_some("without udev lsblk reads fewer files than the agent")
        };
        let wwn = text(&theirs["wwn"]);
        compare("wwn", &ours.wwn, &wwn, unknown(&wwn));
        let serial = text(&theirs["serial"]);
        let other = is_longer(&ours.serial, &serial)
            .then_some("the protocol takes another of its serial numbers first");
        compare(
            "serial",
            &ours.serial,
            &serial,
            other.or_else(|| unknown(&serial)),
        );
        // lsblk shows blanks where the property has underscores.
        let model = plain(&text(&theirs["model"]));
        compare("model", &plain(&ours.model), &model, unknown(&model));
    }
    let theirs: BTreeSet<String> = listed.iter().map(|disk| text(&disk["name"])).collect();
    for ours in inventory.disks.iter().filter(|disk| !theirs.contains(&disk.name)) {
        report.compare(format!("disk {}", ours.name), &ours.name, TOOL, "", || {
            let has_no_medium = ours.size_bytes == 0;
            has_no_medium.then_some("a drive without a medium")
        });
    }
}

fn compare_processors(inventory: &Inventory, answer: &Value, report: &mut Report) {
    const TOOL: &str = "lscpu";
    let field = |name: &str| -> String {
        let fields = answer["lscpu"].as_array().map_or(&[][..], Vec::as_slice);
        find(fields, name).unwrap_or_default()
    };
    let Some(cpu) = &inventory.cpu else { return };
    let mut compare = |what: &str, ours: &str, theirs: &str| {
        report.compare(format!("processors: {what}"), ours, TOOL, theirs, || None);
    };
    compare("architecture", &cpu.architecture, &field("Architecture:"));
    let model = field("Model name:");
    if !model.is_empty() {
        compare("model", &cpu.model_name, &model);
    }
    let online = field("On-line CPU(s) list:");
    compare("number", &cpu.count.to_string(), &number_of(&online).to_string());
    let theirs: BTreeSet<String> = field("Flags:").split_whitespace().map(str::to_owned).collect();
    let ours: BTreeSet<String> = cpu.flags.iter().cloned().collect();
    let joined = |flags: &BTreeSet<String>| flags.iter().cloned().collect::<Vec<_>>().join(" ");
    compare("flags", &joined(&ours), &joined(&theirs));
    let highest = field("CPU max MHz:");
    if !highest.is_empty() {
        compare("frequency", &format!("{:.4}", cpu.frequency), &highest);
    }
}

/// A field, also of the groups that newer versions make.
fn find(fields: &[Value], name: &str) -> Option<String> {
    fields.iter().find_map(|one| {
        if one["field"] == name {
            return Some(text(&one["data"]));
        }
        find(one["children"].as_array()?, name)
    })
}

fn compare_links(root: &Root, inventory: &Inventory, answer: &Value, report: &mut Report) {
    const TOOL: &str = "ip";
    for theirs in answer.as_array().map_or(&[][..], Vec::as_slice) {
        let name = text(&theirs["ifname"]);
        let Some(ours) = inventory.interfaces.iter().find(|one| one.name == name) else {
            report.compare(format!("interface {name}"), "", TOOL, &name, || None);
            continue;
        };
        report.compare(
            format!("interface {name}: mtu"),
            &ours.mtu.to_string(),
            TOOL,
            &text(&theirs["mtu"]),
            || None,
        );
        let address = text(&theirs["address"]);
        let address = if address.bytes().all(|byte| b"0:.".contains(&byte)) {
            ""
        } else {
            address.as_str()
        };
        report.compare(
            format!("interface {name}: address"),
            &ours.mac_address,
            TOOL,
            address,
            || {
                let is_port = root.is_dir(&format!("/sys/class/net/{name}/bonding_slave"));
                is_port.then_some("a port of a bond shows the bond's address; the inventory has its own")
            },
        );
    }
}

fn json(report: &mut Report, program: &str, arguments: &[&str]) -> Option<Value> {
    match output(program, arguments)
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
    {
        Ok(answer) => Some(answer),
        Err(reason) => {
            report.note(format!("{program} is not compared: {reason}"));
            None
        }
    }
}

/// The output of a program, in the C locale.
///
/// # Errors
/// Fails if it is not installed, or if it fails.
pub(super) fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, complaint.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Older versions print all values as texts.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}

fn flag(value: &Value) -> String {
    matches!(text(value).as_str(), "true" | "1").to_string()
}

fn plain(text: &str) -> String {
    text.replace('_', " ").trim().to_owned()
}

/// True for serial numbers of the same disk as other commands of it return them.
fn is_longer(ours: &str, theirs: &str) -> bool {
    !theirs.is_empty() && (ours.contains(theirs) || theirs.contains(ours)) && !ours.is_empty()
}

/// `0-3,8` has five.
fn number_of(list: &str) -> u64 {
    let number = |part: &str| -> Option<u64> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (
            first.trim().parse::<u64>().ok()?,
            last.trim().parse::<u64>().ok()?,
        );
        (last + 1).checked_sub(first)
    };
    list.split(',').filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use muster_api::inventory::{Cpu, Interface};
    use serde_json::json;

    use super::*;
    use crate::testing::Machine;

    fn told(report: &Report) -> Vec<String> {
        report.unexplained().map(|one| one.what.clone()).collect()
    }

    fn disk() -> Disk {
        Disk {
            name: "sda".into(),
            size_bytes: 1000,
            drive_type: "HDD".into(),
            wwn: "0x5".into(),
            serial: "S1".into(),
            model: "A_B".into(),
            ..Disk::default()
        }
    }

    #[test]
    fn disks_are_compared_field_by_field_and_by_name() {
        let inventory = Inventory {
            disks: vec![
                disk(),
                Disk {
                    name: "sdb".into(),
                    size_bytes: 1,
                    ..Disk::default()
                },
            ],
            ..Inventory::default()
        };
        let same = json!({"name": "sda", "size": 1000, "type": "disk", "model": "A B", "serial": "S1", "wwn": "0x5", "rota": true, "rm": "0"});
        let zram = json!({"name": "zram0", "size": 0, "type": "disk"});
        let mut report = Report::default();
        compare_disks(
            &inventory,
            &json!({"blockdevices": [same.clone(), zram]}),
            true,
            &mut report,
        );
        assert_eq!(told(&report), ["disk sdb"]);
        let mut other = same;
        other["size"] = 2000.into();
        other["wwn"] = Value::Null;
        let unknown = json!({"name": "sdc", "size": 5, "type": "disk"});
        let mut report = Report::default();
        compare_disks(
            &inventory,
            &json!({"blockdevices": [other, unknown]}),
            true,
            &mut report,
        );
        assert_eq!(
            told(&report),
            ["disk sda: size", "disk sda: wwn", "disk sdc", "disk sdb"]
        );
    }

    #[test]
    fn processors_are_compared_in_groups_of_fields_too() {
        let cpu = Cpu {
            architecture: "x86_64".into(),
            count: 5,
            flags: vec!["b".into(), "a".into()],
            frequency: 2400.0,
            model_name: "M".into(),
        };
        let inventory = Inventory {
            cpu: Some(cpu),
            ..Inventory::default()
        };
        let answer = |count: &str| {
            json!({"lscpu": [
                {"field": "Architecture:", "data": "x86_64"},
                {"field": "On-line CPU(s) list:", "data": count},
                {"field": "Vendor ID:", "data": "V", "children": [
                    {"field": "Model name:", "data": "M"}, {"field": "Flags:", "data": "a b"},
                    {"field": "CPU max MHz:", "data": "2400.0000"},
                ]},
            ]})
        };
        let mut report = Report::default();
        compare_processors(&inventory, &answer("0-3,8"), &mut report);
        assert_eq!(told(&report), [""; 0]);
        compare_processors(&inventory, &answer("0-7"), &mut report);
        assert_eq!(told(&report), ["processors: number"]);
    }

    #[test]
    fn an_interface_that_is_not_listed_is_told() {
        let port = Interface {
            name: "eth0".into(),
            mtu: 1500,
            mac_address: "00:25:90:00:00:01".into(),
            ..Interface::default()
        };
        let inventory = Inventory {
            interfaces: vec![port],
            ..Inventory::default()
        };
        let machine = Machine::new().file("/sys/class/net/eth0/bonding_slave/state", "active\n");
        let answer = json!([
            {"ifname": "eth0", "mtu": 1500, "address": "00:25:90:00:00:99"},
            {"ifname": "eth1", "mtu": 1500, "address": "00:25:90:00:00:02"},
        ]);
        let mut report = Report::default();
        compare_links(&machine.root(), &inventory, &answer, &mut report);
        assert_eq!(told(&report), ["interface eth1"]);
    }
}
