//! Compares the names of disks as Metal3's own inspection does, in any of their forms.

use muster_api::placeholder::named;
use muster_resources::inventory::HostDisk;
use muster_resources::metal3::RootDeviceHints;

/// Digits of a world-wide name without a vendor's extension; the extension has as many.
const SHORT: usize = 16;

/// The text without case and with one `_` between its words: udev writes that for the spaces in the names of the device and of `lsblk`.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '_');
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("_")
}

pub(super) fn is(hint: &str, found: Option<&str>) -> bool {
    let hint = plain(hint);
    hint.is_empty() || found.is_some_and(|found| plain(found) == hint)
}

pub(super) fn holds(hint: &str, found: Option<&str>) -> bool {
    plain(found.unwrap_or_default()).contains(&plain(hint))
}

/// True for any of the serial numbers that the system has for the disk: that of the device, that of udev, which for SCSI is the
/// world-wide name, and udev's with the model.
pub(super) fn is_serial(hint: &str, disk: &HostDisk) -> bool {
    let name = Wwn::of(disk);
    let by_wwn = |hint: &str| {
        let digits = plain(hint);
        name.as_ref().is_some_and(|name| {
            digits == name.digits || digits.strip_prefix('3').is_some_and(|rest| rest == name.digits)
        })
    };
    is(hint, disk.serial.as_deref()) || is(hint, with_model(disk).as_deref()) || by_wwn(hint)
}

fn with_model(disk: &HostDisk) -> Option<String> {
    Some(format!("{}_{}", disk.model.as_ref()?, disk.serial.as_ref()?))
}

/// True for the path of the disk, or a link to it.
pub(super) fn is_device(hint: &str, disk: &HostDisk) -> bool {
    let hint = hint.trim();
    let is = |found: &Option<String>| {
        found
            .as_ref()
            .is_some_and(|found| found.eq_ignore_ascii_case(hint))
    };
    // udev makes a link with the number of a port's only device, and one without.
    let by_path = disk.by_path.as_deref().is_some_and(|found| {
        found.contains("-ata-")
            && found
                .strip_suffix(".0")
                .is_some_and(|short| short.eq_ignore_ascii_case(hint))
    });
    let by_id = hint
        .strip_prefix("/dev/disk/by-id/")
        .is_some_and(|link| is_link(link, disk));
    hint.is_empty() || is(&disk.path) || is(&disk.by_path) || is(&disk.by_id) || by_path || by_id
}

/// True for a link of udev with a name of the disk in it; the inventory has one of them.
fn is_link(link: &str, disk: &HostDisk) -> bool {
    let Some((bus, name)) = link.split_once('-') else {
        return false;
    };
    let with_model = || is(name, with_model(disk).as_deref());
    match bus {
        "wwn" => Wwn::of(disk).is_some_and(|found| found.digits == digits(name)),
        "scsi" => is_serial(name, disk),
        "nvme" => with_model() || Wwn::of(disk).is_some_and(|found| found.digits == digits(name)),
        "ata" | "usb" => with_model(),
        "virtio" => is(name, disk.serial.as_deref()),
        _ => false,
    }
}

pub(super) fn fits_wwn(hints: &RootDeviceHints, disk: &HostDisk) -> bool {
    let found = Wwn::of(disk);
    let fits = |hint: &str, fits: &dyn Fn(&Wwn, &str) -> bool| {
        hint.trim().is_empty() || found.as_ref().is_some_and(|found| fits(found, &digits(hint)))
    };
    fits(&hints.wwn, &|found, hint| {
        hint == found.digits || Some(hint) == found.short()
    }) && fits(&hints.wwn_with_extension, &|found, hint| hint == found.digits)
        && fits(&hints.wwn_vendor_extension, &|found, hint| {
            Some(hint) == found.extension()
        })
}

/// A world-wide name.
struct Wwn {
    /// Digits in lower case, without prefix.
    digits: String,
    /// True if the second half is a vendor's extension: volumes of a RAID controller have the first in common.
    is_extended: bool,
}

impl Wwn {
    fn of(disk: &HostDisk) -> Option<Self> {
        let text = disk.wwn.as_deref().and_then(named)?;
        let digits = digits(text);
        // Names of NVMe may be as long, and have no extension.
        let is_extended =
            digits.len() == 2 * SHORT && digits.is_ascii() && !text.to_lowercase().contains("eui.");
        (!digits.is_empty()).then_some(Self { digits, is_extended })
    }

    fn short(&self) -> Option<&str> {
        self.is_extended.then(|| &self.digits[..SHORT])
    }

    fn extension(&self) -> Option<&str> {
        self.is_extended.then(|| &self.digits[SHORT..])
    }
}

/// A world-wide name without the prefixes of different programs.
fn digits(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    let mut rest = lower.rsplit('/').next().unwrap_or_default();
    for prefix in ["wwn-", "nvme-", "naa.", "eui.", "0x"] {
        rest = rest.strip_prefix(prefix).unwrap_or(rest);
    }
    rest.to_owned()
}
