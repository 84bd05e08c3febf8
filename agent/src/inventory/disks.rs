//! Block devices. Source of the rules: agent-inventory.md §7.

pub(crate) mod block;
mod boot_medium;
mod drive_type;
mod eligibility;
mod gpt;
mod identity;
mod path_id;
mod properties;
mod scsi;
mod transfer;
mod udev_text;

use std::collections::BTreeMap;

use muster_api::inventory::{Disk, Eligibility, Iscsi};

use super::Problems;
use super::mounts::Mount;
use crate::disk_links;
use crate::root::Root;
use block::BlockDevice;

pub(crate) use properties::{Properties, native};
pub(crate) use udev_text::link_name;

/// Sectors of `/sys/block/N/size`, whatever the disk's own are.
const SECTOR_BYTES: i64 = 512;

/// In order of name.
pub(super) fn disks(root: &Root, mounts: &[Mount], problems: &mut Problems) -> Vec<Disk> {
    let listed: Vec<(BlockDevice<'_>, Properties)> = problems
        .take("disks", block::list(root))
        .unwrap_or_default()
        .into_iter()
        .map(|device| {
            let properties = properties::of(&device);
            (device, properties)
        })
        .collect();
    // The appliance's own disks: the installer is told of one that always fits.
    if listed
        .iter()
        .any(|(device, _)| device.dm_name().is_some_and(|name| name.starts_with("agent")))
    {
        return vec![appliance_disk()];
    }
    let links = Links::read(root);
    let mut uses_of_path: BTreeMap<String, usize> = BTreeMap::new();
    for path in listed
        .iter()
        .filter_map(|(_, properties)| properties.get("ID_PATH"))
    {
        *uses_of_path.entry(path.to_owned()).or_default() += 1;
    }
    listed
        .iter()
        .map(|(device, properties)| {
            let shared = properties
                .get("ID_PATH")
                .is_some_and(|path| uses_of_path.get(path) > Some(&1));
            let surroundings = Surroundings {
                links: &links,
                mounts,
                shares_path: shared,
            };
            disk(device, properties, &surroundings, problems)
        })
        .collect()
}

struct Surroundings<'a> {
    links: &'a Links,
    mounts: &'a [Mount],
    /// Another disk has the same ID_PATH.
    shares_path: bool,
}

fn disk(
    device: &BlockDevice<'_>,
    properties: &Properties,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Disk {
    let by_path = properties
        .get("ID_PATH")
        .map(|path| format!("/dev/disk/by-path/{path}"))
        .filter(|link| around.links.exists(link))
        .unwrap_or_default();
    let path = if device.has_node() || by_path.is_empty() {
        format!("/dev/{}", device.name())
    } else {
        around.links.target(&by_path).unwrap_or_default()
    };
    let by_path = if around.shares_path {
        String::new()
    } else {
        by_path
    };
    let by_id = around.links.by_id(device.name());
    let id = [&by_id, &by_path, &path]
        .into_iter()
        .find(|text| !text.is_empty())
        .cloned()
        .unwrap_or_default();
    let sectors = device.text("size").and_then(|text| {
        text.parse::<i64>()
            .map_err(|_| format!("size {text:?} is no number"))
    });
    let field = |name: &str| format!("disks.{}.{name}", device.name());
    let sectors = problems.take(&field("size_bytes"), sectors).unwrap_or(0);
    let verdict = eligibility::verdict(device, properties, around.mounts);
    Disk {
        wwn: wwn(properties, &by_id),
        serial: properties
            .first(&[
                "SCSI_IDENT_SERIAL",
                "ID_SCSI_SERIAL",
                "ID_SERIAL_SHORT",
                "ID_SERIAL",
            ])
            .map(known)
            .unwrap_or_default(),
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
        id,
        ..Disk::default()
    }
}

/// The text, unless it is the word for not knowing.
fn known(text: &str) -> String {
    if text == "unknown" {
        String::new()
    } else {
        text.to_owned()
    }
}

/// The prefix is that of `wwn-` links only: an `nvme-eui` link stands whole, as the protocol has it.
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

/// The links under `/dev/disk`: those that udev made, or where no udev runs those that process 1 makes.
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
        // A tree captured where no udev ran: on the live image process 1 makes the links.
        if links.is_empty() && !root.is_live() {
            links.extend(disk_links::plan(root));
        }
        Self(links)
    }

    fn exists(&self, link: &str) -> bool {
        self.0.contains_key(link)
    }

    fn target(&self, link: &str) -> Option<String> {
        self.0.get(link).cloned()
    }

    /// The last `wwn-` or `nvme-eui` link to the device, in order of name.
    fn by_id(&self, name: &str) -> String {
        let device = format!("/dev/{name}");
        let counts = |link: &str| {
            link.strip_prefix("/dev/disk/by-id/")
                .is_some_and(|id| id.starts_with("wwn-") || id.starts_with("nvme-eui"))
        };
        self.0
            .iter()
            .rfind(|(link, target)| **target == device && counts(link))
            .map(|(link, _)| link.clone())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
