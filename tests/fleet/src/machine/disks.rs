//! The disks of a machine.

use muster_api::inventory::{Disk, Eligibility};
use rand::RngExt;

use super::Machine;
use super::models::{Model, Storage};

const GB: i64 = 1_000_000_000;

/// A disk's kind and its number among disks of that kind.
struct Kind {
    name: String,
    model: &'static str,
    vendor: &'static str,
    drive_type: &'static str,
    by_path: String,
    size_bytes: i64,
    /// True when it reports a world wide name.
    named: bool,
}

/// All disks. `small` ones are too small to install to.
pub fn disks(machine: Machine, model: &Model, small: bool) -> Vec<Disk> {
    let mut random = machine.random(4);
    let size = |bytes: i64| if small { 8 * GB } else { bytes };
    let mut kinds = Vec::new();
    match model.storage {
        Storage::Server {
            system,
            nvme,
            rotating,
        } => {
            let (nvme, rotating) = (random.random_range(0..=nvme), random.random_range(0..=rotating));
            kinds.extend((0..system).map(|n| sata(n, size(480 * GB))));
            kinds.extend((0..rotating).map(|n| sas(system + n, size(2400 * GB))));
            kinds.extend((0..nvme).map(|n| nvme_disk(n, size(3840 * GB))));
        }
        Storage::Nvme => {
            let count = random.random_range(2..=10);
            kinds.extend((0..count).map(|n| nvme_disk(n, size(1920 * GB))));
        }
        Storage::Virtual => {
            let count = random.random_range(1..=2);
            kinds.extend((0..count).map(|n| virtio(n, size(130 * GB))));
        }
        Storage::Multipath => return multipath(machine, size(1200 * GB)),
    }
    let mut disks: Vec<Disk> = kinds.into_iter().map(|kind| disk(machine, kind)).collect();
    if model.is_virtual {
        disks.push(medium());
    }
    disks
}

fn letter(n: u32) -> char {
    char::from_u32('a' as u32 + n).unwrap_or('z')
}

fn sata(n: u32, size_bytes: i64) -> Kind {
    Kind {
        name: format!("sd{}", letter(n)),
        model: "MTFDDAK480TDS",
        vendor: "ATA",
        drive_type: "SSD",
        by_path: format!("pci-0000:00:17.0-ata-{}.0", n + 1),
        size_bytes,
        named: true,
    }
}

fn sas(n: u32, size_bytes: i64) -> Kind {
    Kind {
        name: format!("sd{}", letter(n)),
        model: "ST2400MM0159",
        vendor: "SEAGATE",
        drive_type: "HDD",
        by_path: format!("pci-0000:5e:00.0-scsi-0:2:{n}:0"),
        size_bytes,
        named: true,
    }
}

fn nvme_disk(n: u32, size_bytes: i64) -> Kind {
    Kind {
        name: format!("nvme{n}n1"),
        model: "Dell Ent NVMe P5500 RI U.2 3.84TB",
        vendor: "",
        drive_type: "SSD",
        by_path: format!("pci-0000:{:02x}:00.0-nvme-1", 0x60 + n),
        size_bytes,
        named: true,
    }
}

fn virtio(n: u32, size_bytes: i64) -> Kind {
    Kind {
        name: format!("vd{}", letter(n)),
        model: "",
        vendor: "0x1af4",
        drive_type: "HDD",
        by_path: format!("pci-0000:{:02x}:00.0", 4 + n),
        size_bytes,
        named: false,
    }
}

fn disk(machine: Machine, kind: Kind) -> Disk {
    let Kind { name, by_path, .. } = kind;
    let wwn = if kind.named {
        wwn(machine, &name)
    } else {
        String::new()
    };
    let by_id = if wwn.is_empty() {
        String::new()
    } else {
        format!("/dev/disk/by-id/wwn-{wwn}")
    };
    let by_path = format!("/dev/disk/by-path/{by_path}");
    let path = format!("/dev/{name}");
    Disk {
        id: if by_id.is_empty() {
            by_path.clone()
        } else {
            by_id.clone()
        },
        serial: format!("{:06}{}", machine.number(), name.to_uppercase()),
        has_uuid: kind.named,
        hctl: if name.starts_with("sd") {
            "0:2:0:0".into()
        } else {
            String::new()
        },
        installation_eligibility: eligible(),
        model: kind.model.into(),
        vendor: kind.vendor.into(),
        drive_type: kind.drive_type.into(),
        size_bytes: kind.size_bytes,
        by_id,
        by_path,
        wwn,
        path,
        name,
        ..Disk::default()
    }
}

/// A world wide name: the vendor's prefix, the machine, the disk.
fn wwn(machine: Machine, name: &str) -> String {
    let of_disk = name
        .bytes()
        .fold(0_u32, |sum, byte| (sum * 31 + u32::from(byte)) & 0xfff);
    let of_fleet = machine.seed & 0xff;
    format!("0x500c{of_fleet:02x}{:07x}{of_disk:03x}", machine.number())
}

fn eligible() -> Eligibility {
    Eligibility {
        eligible: true,
        not_eligible_reasons: Vec::new(),
    }
}

/// The virtual medium that the machine was booted from.
fn medium() -> Disk {
    Disk {
        by_path: "/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0".into(),
        drive_type: "ODD".into(),
        has_uuid: true,
        hctl: "0:0:0:0".into(),
        id: "/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0".into(),
        installation_eligibility: eligible(),
        is_installation_media: true,
        model: "QEMU_DVD-ROM".into(),
        name: "sr0".into(),
        path: "/dev/sr0".into(),
        removable: true,
        serial: "QM00001".into(),
        size_bytes: 45_000_000,
        vendor: "QEMU".into(),
        ..Disk::default()
    }
}

/// A disk of a storage network, its two paths over Fibre Channel.
fn multipath(machine: Machine, size_bytes: i64) -> Vec<Disk> {
    let path = |n: u32| Disk {
        holders: "dm-0".into(),
        drive_type: "FC".into(),
        ..disk(
            machine,
            Kind {
                name: format!("sd{}", letter(n)),
                model: "VV",
                vendor: "3PARdata",
                drive_type: "FC",
                by_path: format!("pci-0000:12:00.{n}-fc-0x20110002ac00{n:04x}-lun-0"),
                size_bytes,
                named: true,
            },
        )
    };
    let whole = wwn(machine, "dm-0");
    vec![
        Disk {
            by_id: format!("/dev/disk/by-id/wwn-{whole}"),
            drive_type: "Multipath".into(),
            id: format!("/dev/disk/by-id/wwn-{whole}"),
            installation_eligibility: eligible(),
            name: "dm-0".into(),
            path: "/dev/dm-0".into(),
            serial: format!("{:06}DM0", machine.number()),
            size_bytes,
            wwn: whole,
            ..Disk::default()
        },
        path(0),
        path(1),
    ]
}
