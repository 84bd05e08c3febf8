//! Computes udev's `ID_PATH`, the place of a disk in the machine. The rules are the ones in systemd 252's
//! `path_id`.
//!
//! The walk goes from the disk upwards and prepends a part at every known bus.

mod scsi_path;

use crate::root::sysfs::Device;

/// `ID_PATH`, and the older form of it for ATA disks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PathId {
    pub path: String,
    pub ata_compat: Option<String>,
}

#[derive(Debug, Default)]
struct Walk {
    parts: Vec<String>,
    /// Same, with `ata-1` for `ata-1.0`.
    compat: Vec<String>,
    is_ata: bool,
    transport_known: bool,
    parent_known: bool,
}

impl Walk {
    fn put(&mut self, part: String) {
        self.compat.push(part.clone());
        self.parts.push(part);
    }
}

/// The device at which the walk continues.
type Next<'a> = Option<Device<'a>>;

/// `None` where the place has no stable name: virtual devices, unknown buses.
pub(super) fn of(disk: &Device<'_>) -> Option<PathId> {
    let mut walk = Walk::default();
    let mut here = Some(disk.clone());
    while let Some(device) = here {
        here = step(&mut walk, disk, device).and_then(|device| device.parent());
    }
    if walk.parts.is_empty() || !walk.parent_known || !walk.transport_known {
        return None;
    }
    let join = |parts: &[String]| {
        parts
            .iter()
            .rev()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("-")
    };
    Some(PathId {
        path: join(&walk.parts),
        ata_compat: walk.is_ata.then(|| join(&walk.compat)),
    })
}

fn step<'a>(walk: &mut Walk, disk: &Device<'_>, device: Device<'a>) -> Next<'a> {
    let Some(subsystem) = device.subsystem() else {
        return Some(device);
    };
    match subsystem.as_str() {
        "scsi" => {
            walk.transport_known = true;
            scsi_path::step(walk, device)
        }
        "usb" => {
            walk.transport_known = true;
            usb(walk, device)
        }
        "virtio" => {
            walk.transport_known = true;
            Some(top_of(device, "virtio"))
        }
        "nvme" => match disk.attribute("nsid") {
            Some(namespace) => {
                walk.put(format!("nvme-{namespace}"));
                walk.transport_known = true;
                walk.parent_known = true;
                Some(top_of(device, "nvme"))
            }
            None => Some(device),
        },
        "nvme-subsystem" => nvme_subsystem(walk, disk, device),
        "pci" | "acpi" | "xen" => {
            walk.put(format!("{subsystem}-{}", device.name()));
            walk.parent_known = true;
            Some(top_of(device, &subsystem))
        }
        "platform" | "scm" | "ccw" | "ccwgroup" | "iucv" => {
            walk.put(format!("{subsystem}-{}", device.name()));
            walk.transport_known = true;
            walk.parent_known = true;
            Some(top_of(device, &subsystem))
        }
        "cciss" => {
            // `c0d1`
            let disk_number = device
                .name()
                .rsplit_once('d')
                .and_then(|(_, number)| number.parse::<u32>().ok())?;
            walk.put(format!("cciss-disk{disk_number}"));
            walk.transport_known = true;
            Some(top_of(device, "cciss"))
        }
        _ => Some(device),
    }
}

/// The highest of consecutive devices of one subsystem.
fn top_of<'a>(device: Device<'a>, subsystem: &str) -> Device<'a> {
    let same = device
        .chain()
        .take_while(|device| device.subsystem().as_deref() == Some(subsystem));
    same.last().unwrap_or(device)
}

/// `1-1:1.0` is `usb-0:1:1.0`.
fn usb<'a>(walk: &mut Walk, device: Device<'a>) -> Next<'a> {
    if !matches!(device.devtype().as_deref(), Some("usb_interface" | "usb_device")) {
        return Some(device);
    }
    let Some((_, port)) = device.name().split_once('-') else {
        return Some(device);
    };
    walk.put(format!("usb-0:{port}"));
    Some(top_of(device, "usb"))
}

/// With native multipath the namespace is under a virtual subsystem; its place is that of the controller in
/// its name.
fn nvme_subsystem<'a>(walk: &mut Walk, disk: &Device<'_>, device: Device<'a>) -> Next<'a> {
    let Some(namespace) = disk.attribute("nsid") else {
        return Some(device);
    };
    walk.put(format!("nvme-{namespace}"));
    walk.transport_known = true;
    walk.parent_known = true;
    let rest = disk.name().strip_prefix("nvme")?;
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let controller = Device::open(device.root(), &format!("/sys/class/nvme/nvme{number}"))?;
    Some(top_of(controller, "nvme"))
}
