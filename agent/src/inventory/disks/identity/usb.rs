//! Reads the identifiers of USB mass storage as udev's `usb_id` does.

use crate::inventory::disks::Properties;
use crate::inventory::disks::udev_text::without_blanks;
use crate::root::sysfs::Device;

const CLASS_MASS_STORAGE: u64 = 8;
/// Subclasses with SCSI commands: MMC-5 (ATAPI) and transparent SCSI.
const SCSI_SUBCLASSES: [u64; 2] = [2, 6];

pub(super) fn read(disk: &Device<'_>, properties: &mut Properties) {
    let Some(interface) = disk.parent_of("usb", Some("usb_interface")) else {
        return;
    };
    let Some(usb) = interface.parent_of("usb", Some("usb_device")) else {
        return;
    };
    let hex = |name: &str| {
        let text = interface.attribute(name)?;
        u64::from_str_radix(text.trim(), 16).ok()
    };
    let mut vendor = String::new();
    let mut model = String::new();
    let mut instance = String::new();
    let speaks_scsi = hex("bInterfaceSubClass").is_some_and(|subclass| SCSI_SUBCLASSES.contains(&subclass));
    if hex("bInterfaceClass") == Some(CLASS_MASS_STORAGE)
        && speaks_scsi
        && let Some(scsi) = disk.parent_of("scsi", Some("scsi_device"))
    {
        vendor = text(&scsi, "vendor");
        model = text(&scsi, "model");
        let mut numbers = scsi.name().split(':').skip(2);
        if let (Some(target), Some(lun)) = (numbers.next(), numbers.next()) {
            instance = format!("-{target}:{lun}");
        }
    }
    if vendor.is_empty() {
        vendor = first_text(&usb, &["manufacturer", "idVendor"]);
    }
    if model.is_empty() {
        model = first_text(&usb, &["product", "idProduct"]);
    }
    let short = serial(&usb);
    let whole = if short.is_empty() {
        format!("{vendor}_{model}{instance}")
    } else {
        format!("{vendor}_{model}_{short}{instance}")
    };
    // A bus that `ata_id` found inside an enclosure stays; links by the USB serial are added.
    if properties.get("ID_BUS").is_none() {
        properties.set("ID_BUS", "usb");
        properties.set("ID_MODEL", model);
        properties.set("ID_SERIAL", whole.clone());
        properties.set("ID_SERIAL_SHORT", short);
    }
    properties.set("ID_USB_SERIAL", whole);
}

fn text(device: &Device<'_>, name: &str) -> String {
    without_blanks(device.attribute(name).unwrap_or_default().as_bytes())
}

fn first_text(device: &Device<'_>, names: &[&str]) -> String {
    let mut texts = names.iter().map(|name| text(device, name));
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}

/// Serials with a comma or characters outside printable ASCII are invalid.
fn serial(usb: &Device<'_>) -> String {
    let raw = usb.attribute("serial").unwrap_or_default();
    let sane = raw.chars().all(|c| (' '..='~').contains(&c) && c != ',');
    if sane {
        without_blanks(raw.as_bytes())
    } else {
        String::new()
    }
}
