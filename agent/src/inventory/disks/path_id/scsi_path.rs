//! Computes the parts of `ID_PATH` for SCSI devices, by transport: Fibre Channel, SAS, iSCSI, ATA, Hyper-V,
//! others.

use super::{Next, Walk, top_of};
use crate::root::sysfs::Device;

pub(super) fn step<'a>(walk: &mut Walk, device: Device<'a>) -> Next<'a> {
    if device.devtype().as_deref() != Some("scsi_device") {
        return Some(device);
    }
    if let Some(id) = device.attribute("ieee1394_id") {
        walk.put(format!("ieee1394-0x{id}"));
        walk.parent_known = true;
        return Some(top_of(device, "scsi"));
    }
    let path = device.path().to_owned();
    let transports: [(&str, Transport); 3] = [
        ("/rport-", fibre_channel),
        ("/end_device-", sas),
        ("/session", iscsi),
    ];
    for (mark, part) in transports {
        if path.contains(mark) {
            walk.parent_known = true;
            walk.put(part(&device)?);
            return Some(device);
        }
    }
    if path.contains("/ata") {
        return ata(walk, device);
    }
    if path.contains("/vmbus_") || path.contains("/VMBUS") {
        walk.put(hyperv(&device)?);
        return Some(device);
    }
    other(walk, &device)
}

type Transport = fn(&Device<'_>) -> Option<String>;

/// SCSI address of a device: host, channel, target, LUN.
fn address(device: &Device<'_>) -> Option<[u64; 4]> {
    let numbers: Vec<u64> = device
        .name()
        .split(':')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    numbers.try_into().ok()
}

/// `lun-0`; above 255 in SAM's long form, first two levels.
fn lun(device: &Device<'_>) -> Option<String> {
    let number = device.number()?;
    Some(if number < 256 {
        format!("lun-{number}")
    } else {
        format!(
            "lun-0x{:04x}{:04x}00000000",
            number & 0xffff,
            number >> 16 & 0xffff
        )
    })
}

fn class_attribute(device: &Device<'_>, class: &str, name: &str, attribute: &str) -> Option<String> {
    Device::open(device.root(), &format!("/sys/class/{class}/{name}"))?.attribute(attribute)
}

fn fibre_channel(device: &Device<'_>) -> Option<String> {
    let target = device.parent_of("scsi", Some("scsi_target"))?;
    let port = class_attribute(device, "fc_transport", target.name(), "port_name")?;
    Some(format!("fc-{port}-{}", lun(device)?))
}

/// A wide port is named by its SAS address, a single phy by its number on the adapter or expander.
fn sas(device: &Device<'_>) -> Option<String> {
    let end_device = device.parent_of("scsi", Some("scsi_target"))?.parent()?;
    let port = end_device.parent()?;
    let lun = lun(device)?;
    if class_attribute(device, "sas_port", port.name(), "num_phys")? != "1" {
        let own = class_attribute(device, "sas_device", end_device.name(), "sas_address")?;
        return Some(format!("sas-{own}-{lun}"));
    }
    let phy = class_attribute(device, "sas_device", end_device.name(), "phy_identifier")?;
    let above = port.parent()?;
    Some(
        match class_attribute(device, "sas_device", above.name(), "sas_address") {
            Some(expander) => format!("sas-exp{expander}-phy{phy}-{lun}"),
            None => format!("sas-phy{phy}-{lun}"),
        },
    )
}

fn iscsi(device: &Device<'_>) -> Option<String> {
    let session = device
        .chain()
        .find(|device| device.name().starts_with("session"))?;
    let target = class_attribute(device, "iscsi_session", session.name(), "targetname")?;
    let connection = format!("connection{}:0", session.number()?);
    let address = class_attribute(device, "iscsi_connection", &connection, "persistent_address")?;
    let port = class_attribute(device, "iscsi_connection", &connection, "persistent_port")?;
    Some(format!("ip-{address}:{port}-iscsi-{target}-{}", lun(device)?))
}

/// `ata-<port>.<drive>`; behind a port multiplier `ata-<port>.<multiplier's port>.0`.
fn ata<'a>(walk: &mut Walk, device: Device<'a>) -> Next<'a> {
    let host = device.parent_of("scsi", Some("scsi_host"))?;
    let ata = host.parent()?;
    let [_, channel, target, _] = address(&device)?;
    let port = class_attribute(&device, "ata_port", ata.name(), "port_no")?;
    walk.parts.push(if channel != 0 {
        format!("ata-{port}.{channel}.0")
    } else {
        format!("ata-{port}.{target}")
    });
    walk.compat.push(format!("ata-{port}"));
    walk.is_ata = true;
    Some(device)
}

fn hyperv(device: &Device<'_>) -> Option<String> {
    let bus = device.parent_of("scsi", Some("scsi_host"))?.parent()?;
    let id = bus.attribute("device_id")?;
    let guid = id.strip_prefix('{')?.strip_suffix('}')?.replace('-', "");
    Some(format!("vmbus-{guid}-{}", lun(device)?))
}

/// The host's number is counted from the lowest of its controller: kernel-wide numbers are not stable.
fn other<'a>(walk: &mut Walk, device: &Device<'a>) -> Next<'a> {
    let host = device.parent_of("scsi", Some("scsi_host"))?;
    let [number, channel, target, lun] = address(device)?;
    let (folder, _) = host.path().rsplit_once('/')?;
    let lowest = device
        .root()
        .list(folder)
        .ok()?
        .iter()
        .filter_map(|name| name.strip_prefix("host")?.parse::<u64>().ok())
        .min();
    let Some(lowest) = lowest else {
        return Some(host);
    };
    walk.put(format!(
        "scsi-{}:{channel}:{target}:{lun}",
        number.checked_sub(lowest)?
    ));
    Some(host)
}
