//! udev's database (`/run/udev/data`), which `udevadm info` prints: properties and links of disks, and names of network cards.

use std::collections::BTreeSet;

use super::Report;
use crate::inventory::disks::{block, links, udev};
use crate::net::predictable_names;
use crate::root::Root;

const DATABASE: &str = "/run/udev/data";
const TOOL: &str = "udev";
/// Properties from which ids and types in the inventory are made.
const KEYS: [&str; 11] = [
    "DM_UUID",
    "ID_BUS",
    "ID_MODEL",
    "ID_PATH",
    "ID_PATH_ATA_COMPAT",
    "ID_SCSI_SERIAL",
    "ID_SERIAL",
    "ID_SERIAL_SHORT",
    "ID_USB_SERIAL",
    "ID_WWN",
    "ID_WWN_WITH_EXTENSION",
];

/// True if there is a database.
pub(super) fn runs(root: &Root) -> bool {
    root.is_dir(DATABASE)
}

/// Compares the properties that the agent computes if udev does not run.
pub(super) fn disks(root: &Root, report: &mut Report) {
    if !runs(root) {
        report.note("udev does not run here: links and properties of disks are not compared");
        return;
    }
    let disks = block::list(root).unwrap_or_default();
    let planned = links::plan(root).links;
    for disk in &disks {
        let Some(record) = disk
            .text("dev")
            .ok()
            .and_then(|number| record(root, &format!("b{number}")))
        else {
            report.note(format!("udev has no record of disk {}", disk.name()));
            continue;
        };
        let ours = udev::native(disk);
        for key in KEYS {
            let theirs = record.property(key);
            let computed = ours.get(key).unwrap_or_default();
            report.compare(
                format!("disk {}: {key}", disk.name()),
                computed,
                TOOL,
                theirs,
                || explain_property(key, theirs),
            );
        }
        let node = format!("/dev/{}", disk.name());
        let made: BTreeSet<&str> = planned
            .iter()
            .filter(|(_, target)| *target == node)
            .filter_map(|(link, _)| link.strip_prefix("/dev/"))
            .collect();
        for link in made.union(&record.disk_links()) {
            let has = |yes: bool| if yes { *link } else { "" };
            let (ours, theirs) = (made.contains(link), record.links.iter().any(|one| one == link));
            report.compare(
                format!("disk {}: link", disk.name()),
                has(ours),
                TOOL,
                has(theirs),
                || explain_link(link, ours),
            );
        }
    }
}

/// Compares the names of cards in an installed system.
pub(super) fn names(root: &Root, report: &mut Report) {
    if !runs(root) {
        report.note("udev does not run here: names of network cards are not compared");
        return;
    }
    for (name, predicted) in predictable_names::names(root) {
        let index = root
            .text(&format!("/sys/class/net/{name}/ifindex"))
            .unwrap_or_default();
        let Some(record) = record(root, &format!("n{index}")) else {
            continue;
        };
        let of_policy = [
            "ID_NET_NAME_FROM_DATABASE",
            "ID_NET_NAME_ONBOARD",
            "ID_NET_NAME_SLOT",
            "ID_NET_NAME_PATH",
        ];
        let theirs = of_policy
            .iter()
            .map(|key| record.property(key))
            .find(|name| !name.is_empty());
        let ours = predicted.unwrap_or_default();
        report.compare(
            format!("card {name}: name"),
            &ours,
            TOOL,
            theirs.unwrap_or_default(),
            || {
                let policy = record.property("ID_NET_NAMING_SCHEME");
                let known = ["", "v252", "rhel-9.0"].contains(&policy);
                (!known).then_some("names are those of systemd 252; this system has another naming scheme")
            },
        );
    }
}

/// One device's record.
struct Record {
    properties: Vec<(String, String)>,
    /// Below `/dev`.
    links: Vec<String>,
}

impl Record {
    fn parse(text: &str) -> Self {
        let of_kind = |kind: &'static str| text.lines().filter_map(move |line| line.strip_prefix(kind));
        let properties = of_kind("E:").filter_map(|line| line.split_once('='));
        Self {
            properties: properties
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            links: of_kind("S:").map(str::to_owned).collect(),
        }
    }

    /// Empty if there is no such property.
    fn property(&self, key: &str) -> &str {
        let mut properties = self.properties.iter();
        properties
            .find(|(name, _)| name == key)
            .map_or("", |(_, value)| value)
    }

    fn disk_links(&self) -> BTreeSet<&str> {
        let kinds = ["disk/by-id/", "disk/by-path/"];
        let links = self.links.iter().map(String::as_str);
        links
            .filter(|link| kinds.iter().any(|kind| link.starts_with(kind)))
            .collect()
    }
}

fn record(root: &Root, name: &str) -> Option<Record> {
    let text = root.text(&format!("{DATABASE}/{name}")).ok()?;
    Some(Record::parse(&text))
}

fn explain_property(key: &str, theirs: &str) -> Option<&'static str> {
    match key {
        "ID_SCSI_SERIAL" if theirs.is_empty() => {
            Some("RHCOS has the rules of sg3_utils that set it; this system has not")
        }
        _ => None,
    }
}

fn explain_link(link: &str, ours: bool) -> Option<&'static str> {
    let name = link.rsplit('/').next().unwrap_or_default();
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if ours {
        return None;
    }
    if is(&["dm-", "lvm-pv-uuid-", "md-"]) {
        return Some("a link by what is built upon disks; the live image builds nothing");
    }
    if is(&["scsi-"]) {
        return Some("a link by the rules of sg3_utils; the inventory uses none of them");
    }
    if name.contains("-usbv2-") || name.contains("-usbv3-") {
        return Some("since systemd 255 USB disks have a second link by path");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn machine(record: &str) -> Machine {
        Machine::new()
            .disk(
                "virtual/block/dm-1",
                &[("size", "8"), ("dev", "254:1"), ("dm/uuid", "mpath-3600a")],
            )
            .file("/run/udev/data/b254:1", record)
    }

    #[test]
    fn a_disk_as_udev_has_it_has_no_difference() {
        let mut report = Report::default();
        disks(
            &machine("E:DM_UUID=mpath-3600a\nS:mapper/mpatha\n").root(),
            &mut report,
        );
        assert!(
            report.to_string().starts_with("11 values are the same, 0 differ"),
            "{report}"
        );
    }

    #[test]
    fn another_value_and_a_missing_link_are_told() {
        let mut report = Report::default();
        let record = "E:DM_UUID=mpath-other\nE:ID_SERIAL=S\nS:disk/by-id/dm-uuid-mpath-other\nS:disk/by-id/wwn-0x600a\n";
        disks(&machine(record).root(), &mut report);
        let told: Vec<&str> = report.unexplained().map(|one| one.what.as_str()).collect();
        assert_eq!(
            told,
            ["disk dm-1: DM_UUID", "disk dm-1: ID_SERIAL", "disk dm-1: link"]
        );
        assert!(
            report.to_string().contains("explained: disk dm-1: link"),
            "{report}"
        );
    }

    #[test]
    fn cards_are_compared_by_the_name_of_the_policy() {
        let machine = |path: &str| {
            Machine::new()
                .nic(
                    "pci0000:00/net/eth0",
                    &[("ifindex", "2"), ("iflink", "2"), ("type", "1")],
                )
                .file("/run/udev/data/n2", format!("E:ID_NET_NAME_PATH={path}\n"))
        };
        let mut report = Report::default();
        names(&machine("").root(), &mut report);
        assert_eq!(report.unexplained().count(), 0);
        names(&machine("enp1s0").root(), &mut report);
        assert_eq!(report.unexplained().next().unwrap().what, "card eth0: name");
    }
}
