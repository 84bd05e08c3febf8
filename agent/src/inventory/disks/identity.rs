//! Reads serial, model and world-wide name of a disk as udev's `60-persistent-storage.rules` and its programs
//! `ata_id`, `scsi_id` and `usb_id` (systemd 252) do.

mod ata;
mod usb;

use super::block::BlockDevice;
use super::{Properties, scsi};
use crate::root::sysfs::Device;

/// Type of optical drives in INQUIRY and sysfs.
const TYPE_OPTICAL: &str = "5";
/// SCSI levels (sysfs counts one more than INQUIRY) from which `ata_id` identifies optical drives on ATA.
const SPC3_LEVELS: std::ops::RangeInclusive<u64> = 6..=99;

pub(super) fn read(device: &BlockDevice<'_>, properties: &mut Properties) {
    let Some(sysfs) = device.device() else {
        return;
    };
    let name = device.name();
    if name.starts_with("nvme") {
        nvme(&sysfs, properties);
    } else if name.starts_with("vd") {
        properties.set("ID_SERIAL", sysfs.inherited("serial").unwrap_or_default());
    } else if name.starts_with("sd") || name.starts_with("sr") {
        scsi_or_ata(device, &sysfs, properties);
    } else if name.starts_with("mmcblk") {
        if let Some(card) = sysfs.parent_of("mmc", None) {
            properties.set("ID_SERIAL", card.attribute("serial").unwrap_or_default());
            properties.set("ID_NAME", card.attribute("name").unwrap_or_default());
        }
    } else if name.starts_with("pmem") {
        properties.set("ID_PMEM_UUID", sysfs.inherited("uuid").unwrap_or_default());
    }
}

fn nvme(sysfs: &Device<'_>, properties: &mut Properties) {
    let [serial, wwid, model] = ["serial", "wwid", "model"].map(|name| trimmed_end(sysfs.inherited(name)));
    if !serial.is_empty() && !model.is_empty() {
        let namespace = trimmed_end(sysfs.inherited("nsid"));
        properties.set("ID_NVME_SERIAL_OBSOLETE", format!("{model}_{serial}"));
        properties.set(
            "ID_SERIAL",
            if namespace.is_empty() {
                format!("{model}_{serial}")
            } else {
                format!("{model}_{serial}_{namespace}")
            },
        );
    }
    properties.set("ID_SERIAL_SHORT", serial);
    properties.set("ID_MODEL", model);
    properties.set("ID_WWN", wwid);
}

/// udev strips the blanks at the end of an attribute that it puts in a property.
fn trimmed_end(text: Option<String>) -> String {
    text.unwrap_or_default().trim_end().to_owned()
}

fn scsi_or_ata(device: &BlockDevice<'_>, sysfs: &Device<'_>, properties: &mut Properties) {
    let parents: Vec<Device<'_>> = sysfs.chain().collect();
    let on_scsi = |name: &str, fits: &dyn Fn(&str) -> bool| {
        parents
            .iter()
            .filter(|parent| parent.subsystem().as_deref() == Some("scsi"))
            .any(|parent| parent.attribute(name).is_some_and(|value| fits(value.trim_end())))
    };
    let on_usb = parents
        .iter()
        .any(|parent| parent.subsystem().as_deref() == Some("usb"));
    let is_optical = on_scsi("type", &|value| value == TYPE_OPTICAL);
    let spc3 = on_scsi("scsi_level", &|value| {
        value.parse().is_ok_and(|level| SPC3_LEVELS.contains(&level))
    });
    let fixed_on_usb = on_usb && device.text("removable").is_ok_and(|text| text == "0");
    if (on_scsi("vendor", &|value| value == "ATA") || (is_optical && spc3) || fixed_on_usb)
        && let Some(identify) = device.ata_identify(is_optical)
    {
        ata::read(&identify, properties);
    }
    if on_usb {
        usb::read(sysfs, properties);
    }
    if properties.get("ID_SERIAL").is_none() {
        scsi::read(device, properties);
    }
    // sg3_utils' rules, which RHCOS has, set this for every disk; other systems use it as the serial.
    if properties.get("ID_SCSI_SERIAL").is_none()
        && !on_usb
        && let Some(serial) = device.vpd_page(0x80).and_then(|page| scsi::unit_serial(&page))
    {
        properties.set("ID_SCSI_SERIAL", serial);
    }
}

/// `DM_WWN` of a multipath device, from the uuid that multipath gave it (`mpath-3<hex of an NAA identifier>`).
pub(super) fn device_mapper(device: &BlockDevice<'_>, properties: &mut Properties) {
    let Some(uuid) = device.dm_uuid() else {
        return;
    };
    if let Some(naa) = uuid.strip_prefix("mpath-3") {
        properties.set("DM_WWN", format!("0x{naa}"));
    }
    properties.set("DM_UUID", uuid);
}
