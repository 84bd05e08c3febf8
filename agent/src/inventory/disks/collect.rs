//! Reads every disk of the machine, each with a deadline of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use muster_api::inventory::{Disk, Eligibility, Iscsi};
use muster_api::placeholder::named;

use super::block::{self, BlockDevice};
use super::{Properties, drive_type, eligibility, links, patience, udev};
use crate::inventory::Problems;
use crate::inventory::mounts::Mount;
use crate::root::{ProbeError, Root};

/// Unit of `/sys/block/N/size`, whatever the disk's own sectors are.
const SECTOR_BYTES: i64 = 512;

/// A disk without a response for this long is reported as silent. SCSI commands end after 10 s.
const PATIENCE: Duration = Duration::from_secs(15);

/// The disks in order of name.
pub(in crate::inventory) fn disks(root: &Root, mounts: &[Mount], problems: &mut Problems) -> Vec<Disk> {
    let listed = problems.take("disks", block::list(root)).unwrap_or_default();
    // The appliance's own disks: the installer gets one disk that always fits.
    if listed
        .iter()
        .any(|device| device.dm_name().is_some_and(|name| name.starts_with("agent")))
    {
        return vec![appliance_disk()];
    }
    let names: Vec<String> = listed.iter().map(|device| device.name().to_owned()).collect();
    let context = Arc::new(Context {
        links: Links::read(root),
        mounts: mounts.to_owned(),
    });
    let examined: Vec<Option<Examined>> = if root.answers_for_this_machine() {
        let shared = Arc::clone(&context);
        patience::each("disk", names, PATIENCE, move |name| {
            let root = Root::live();
            Examined::new(&BlockDevice::named(&root, name), &shared)
        })
    } else {
        // Nothing hangs in a captured tree, and a recording must read here what it records.
        listed
            .iter()
            .map(|device| Some(Examined::new(device, &context)))
            .collect()
    };
    let mut found: Vec<Examined> = listed
        .iter()
        .zip(examined)
        .map(|(device, examined)| examined.unwrap_or_else(|| Examined::silent(device, &context.links)))
        .collect();
    let mut uses_of_path: BTreeMap<String, usize> = BTreeMap::new();
    for path in found.iter().filter_map(|one| one.id_path.clone()) {
        *uses_of_path.entry(path).or_default() += 1;
    }
    for one in &mut found {
        let shared = one
            .id_path
            .as_ref()
            .is_some_and(|path| uses_of_path.get(path) > Some(&1));
        if shared {
            one.disk.by_path.clear();
        }
        one.disk.id = [&one.disk.by_id, &one.disk.by_path, &one.disk.path]
            .into_iter()
            .find(|text| !text.is_empty())
            .cloned()
            .unwrap_or_default();
    }
    found
        .into_iter()
        .map(|one| {
            problems.add(one.problems);
            one.disk
        })
        .collect()
}

struct Context {
    links: Links,
    mounts: Vec<Mount>,
}

/// A disk without the part that depends on the other disks, its id.
struct Examined {
    disk: Disk,
    /// Several disks may have the same.
    id_path: Option<String>,
    problems: Problems,
}

impl Examined {
    fn new(device: &BlockDevice<'_>, context: &Context) -> Self {
        let mut problems = Problems::default();
        let properties = udev::properties(device);
        Self {
            disk: disk(device, &properties, context, &mut problems),
            id_path: properties.get("ID_PATH").map(str::to_owned),
            problems,
        }
    }

    /// The kernel's own facts about a disk that does not respond.
    fn silent(device: &BlockDevice<'_>, links: &Links) -> Self {
        let mut problems = Problems::default();
        let reason = format!("The disk did not answer within {} s", PATIENCE.as_secs());
        problems.note(&format!("disks.{}", device.name()), reason.clone());
        let text = |file: &str| device.text(file).map(|text| known(&text)).unwrap_or_default();
        let sectors = text("size").parse::<i64>().unwrap_or(0);
        Self {
            disk: Disk {
                name: device.name().to_owned(),
                path: format!("/dev/{}", device.name()),
                by_id: links.by_id(device.name()),
                vendor: text("device/vendor"),
                model: text("device/model"),
                serial: text("device/serial"),
                hctl: device.hctl().unwrap_or_default(),
                size_bytes: sectors.saturating_mul(SECTOR_BYTES).max(0),
                removable: text("removable") == "1",
                holders: device.list("holders").join(","),
                installation_eligibility: Eligibility {
                    eligible: false,
                    not_eligible_reasons: vec![reason],
                },
                ..Disk::default()
            },
            id_path: None,
            problems,
        }
    }
}

fn disk(
    device: &BlockDevice<'_>,
    properties: &Properties,
    context: &Context,
    problems: &mut Problems,
) -> Disk {
    let by_path = properties
        .get("ID_PATH")
        .map(|path| format!("/dev/disk/by-path/{path}"))
        .filter(|link| context.links.exists(link))
        .unwrap_or_default();
    let path = if device.has_node() || by_path.is_empty() {
        format!("/dev/{}", device.name())
    } else {
        context.links.target(&by_path).unwrap_or_default()
    };
    let by_id = context.links.by_id(device.name());
    let sectors = device.text("size").and_then(|text| {
        text.parse::<i64>()
            .map_err(|_| ProbeError::value(format!("size {text:?} is no number")))
    });
    let field = |name: &str| format!("disks.{}.{name}", device.name());
    let sectors = problems.take(&field("size_bytes"), sectors).unwrap_or(0);
    let verdict = eligibility::verdict(device, properties, &context.mounts);
    Disk {
        wwn: wwn(properties, &by_id),
        serial: properties
            .first(&[
                "SCSI_IDENT_SERIAL",
                "ID_SCSI_SERIAL",
                "ID_SERIAL_SHORT",
                "ID_SERIAL",
            ])
            .unwrap_or_default()
            .to_owned(),
        model: properties.get("ID_MODEL").map(known).unwrap_or_default(),
        vendor: device
            .text("device/vendor")
            .map(|text| known(&text))
            .unwrap_or_default(),
        hctl: device.hctl().unwrap_or_default(),
        size_bytes: sectors.saturating_mul(SECTOR_BYTES).max(0),
        drive_type: drive_type::of(device, properties).to_owned(),
        removable: device.text("removable").is_ok_and(|text| text == "1"),
        bootable: device.has_boot_sector(),
        has_uuid: device.answers_identification(),
        holders: device.list("holders").join(","),
        iscsi: (drive_type::of(device, properties) == "iSCSI").then(|| Iscsi {
            host_ip_address: eligibility::iscsi_host_address(device),
        }),
        is_installation_media: verdict.is_installation_media,
        installation_eligibility: Eligibility {
            eligible: verdict.reasons.is_empty(),
            not_eligible_reasons: verdict.reasons,
        },
        name: device.name().to_owned(),
        path,
        by_id,
        by_path,
        ..Disk::default()
    }
}

/// The text, unless it names nothing.
fn known(text: &str) -> String {
    named(text).unwrap_or_default().to_owned()
}

/// The prefix is removed from `wwn-` links only: an `nvme-eui` link stays whole, by the protocol.
fn wwn(properties: &Properties, by_id: &str) -> String {
    match properties.first(&["ID_WWN_WITH_EXTENSION", "ID_WWN", "DM_WWN"]) {
        Some(wwn) => wwn.to_owned(),
        None => by_id
            .strip_prefix("/dev/disk/by-id/wwn-")
            .unwrap_or(by_id)
            .to_owned(),
    }
}

fn appliance_disk() -> Disk {
    Disk {
        drive_type: "SSD".to_owned(),
        size_bytes: 100 << 30,
        installation_eligibility: Eligibility {
            eligible: true,
            not_eligible_reasons: Vec::new(),
        },
        ..Disk::default()
    }
}

/// The links under `/dev/disk`: udev's, or without udev the links that process 1 makes.
struct Links(BTreeMap<String, String>);

impl Links {
    fn read(root: &Root) -> Self {
        let mut links = BTreeMap::new();
        for folder in ["/dev/disk/by-id", "/dev/disk/by-path"] {
            for name in root.list(folder).unwrap_or_default() {
                let link = format!("{folder}/{name}");
                if let Ok(target) = root.link(&link) {
                    let target = target.rsplit('/').next().unwrap_or_default();
                    links.insert(link, format!("/dev/{target}"));
                }
            }
        }
        // A tree captured without udev: on the live image process 1 makes the links.
        if links.is_empty() && !root.is_live() {
            links.extend(links::plan(root).links);
        }
        Self(links)
    }

    fn exists(&self, link: &str) -> bool {
        self.0.contains_key(link)
    }

    fn target(&self, link: &str) -> Option<String> {
        self.0.get(link).cloned()
    }

    /// The last `wwn-` or `nvme-eui` link to the device that names something, in order of name.
    fn by_id(&self, name: &str) -> String {
        let device = format!("/dev/{name}");
        let counts = |link: &str| {
            let id = link.strip_prefix("/dev/disk/by-id/").unwrap_or_default();
            let name = id.strip_prefix("nvme-").filter(|id| id.starts_with("eui"));
            let name = name.or_else(|| id.strip_prefix("wwn-"));
            name.and_then(named).is_some()
        };
        self.0
            .iter()
            .rfind(|(link, target)| **target == device && counts(link))
            .map(|(link, _)| link.clone())
            .unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
