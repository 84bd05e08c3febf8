//! Disks, partitions, filesystems and RAID.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::places::Place;
use super::nodes::path;

pub(super) fn disk(place: &mut Place<'_>) {
    if place.text("device").is_empty() {
        place.fail("device", "is needed");
        return;
    }
    place.fail_if(path(place.text("device")), "device");
    let partitions: Vec<&Map<String, Value>> = place.objects("partitions").collect();
    let number = |it: &Map<String, Value>| it.get("number").and_then(Value::as_i64).unwrap_or(0);

    let mut numbers = HashSet::new();
    let collides = |it: &&Map<String, Value>| number(it) != 0 && !numbers.insert(number(it));
    if let Some(index) = partitions.iter().position(collides) {
        place.fail(
            format!("partitions.{index}"),
            "has the number of another partition",
        );
    }
    if let Some(index) = overlapping(&partitions) {
        place.fail(format!("partitions.{index}"), "overlaps with another partition");
    }
    let goes = |it: &&Map<String, Value>| it.get("shouldExist") == Some(&Value::Bool(false));
    if partitions.iter().any(goes) && partitions.iter().any(|it| number(it) == 0) {
        place.fail(
            "partitions",
            "have one without a number next to one that should not exist; give each a number",
        );
    }
    let label = |it: &&Map<String, Value>| it.get("label").and_then(Value::as_str).map(str::to_owned);
    let mut labels = HashSet::new();
    let repeats = |label: Option<String>| label.is_some_and(|label| !labels.insert(label));
    if let Some(index) = partitions.iter().map(label).position(repeats) {
        place.fail(
            format!("partitions.{index}"),
            "has the label of another partition",
        );
    }
}

/// First and last MiB; `None` if Ignition chooses the place when it sees the disk.
fn extent(partition: &Map<String, Value>) -> Option<(i64, i64)> {
    let number = |name: &str| partition.get(name).and_then(Value::as_i64);
    let (start, size) = (number("startMiB")?, number("sizeMiB")?);
    if start == 0 {
        return None;
    }
    // The rest of the disk counts as one partition.
    let end = if size == 0 {
        start
    } else {
        start.wrapping_add(size).wrapping_sub(1)
    };
    Some((start, end))
}

/// The first partition that overlaps with any other.
fn overlapping(partitions: &[&Map<String, Value>]) -> Option<usize> {
    for (one, this) in partitions.iter().enumerate() {
        let Some((start, end)) = extent(this) else {
            continue;
        };
        for (two, that) in partitions.iter().enumerate() {
            let Some(that) = extent(that).filter(|_| one != two) else {
                continue;
            };
            let within = |place: i64| that.0 <= place && place <= that.1;
            if within(start) || within(end) || (start < that.0 && end > that.1) {
                return Some(two);
            }
        }
    }
    None
}

pub(super) fn partition(place: &mut Place<'_>) {
    let others = ["label", "startMiB", "sizeMiB"];
    let texts = ["typeGuid", "guid"];
    let says_more =
        others.iter().any(|name| place.is_set(name)) || texts.iter().any(|name| !place.text(name).is_empty());
    if place.flag("shouldExist") == Some(false) && says_more {
        place.fail("", "should not exist, so it may have a number alone");
    }
    if place.number("number").unwrap_or(0) == 0 && !place.is_set("label") {
        place.fail("", "needs a label, or a number from 1");
    }
    let label = place.text("label");
    if label.len() > 36 {
        place.fail("label", "must not be longer than 36 bytes");
    } else if label.contains(':') {
        place.fail("label", "must not hold a colon");
    }
    for name in ["guid", "typeGuid"] {
        if !is_guid(place.text(name)) {
            place.fail(name, "must be of the form 01234567-89AB-CDEF-EDCB-A98765432101");
        }
    }
}

fn is_guid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.is_empty() || parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(is_hex)
}

pub(super) fn filesystem(place: &mut Place<'_>) {
    let (format, label) = (place.text("format"), place.text("label"));
    let mounted = place.text("path");
    if !mounted.is_empty() {
        place.fail_if(path(mounted), "path");
    }
    place.fail_if(path(place.text("device")), "device");
    match format {
        "" => {
            let needs = !mounted.is_empty()
                || !label.is_empty()
                || !place.text("uuid").is_empty()
                || place.is_true("wipeFilesystem")
                || !place.list("mountOptions").is_empty()
                || !place.list("options").is_empty();
            if needs {
                place.fail(
                    "format",
                    "is needed with a path, label, uuid, wipeFilesystem, options or mountOptions",
                );
            }
        }
        "ext4" | "btrfs" | "xfs" | "swap" | "vfat" => {}
        "none" if place.minor >= 3 => {}
        _ => place.fail(
            "format",
            "must be ext4, btrfs, xfs, swap or vfat, or since 3.3.0 none",
        ),
    }
    let longest = match format {
        "ext4" => 16,
        "btrfs" => 256,
        "xfs" => 12,
        "swap" => 15,
        "vfat" => 11,
        _ => usize::MAX,
    };
    if !label.is_empty() && format.is_empty() {
        place.fail("label", "needs a format");
    } else if label.len() > longest {
        place.fail(
            "label",
            format!("must not be longer than {longest} bytes for {format}"),
        );
    }
}

pub(super) fn raid(place: &mut Place<'_>) {
    let without_spares = matches!(place.text("level"), "linear" | "raid0" | "0" | "stripe");
    match place.text("level") {
        "" => place.fail("level", "is needed"),
        _ if without_spares => {
            if place.number("spares").is_some_and(|spares| spares != 0) {
                place.fail("level", "has no spares");
            }
        }
        "raid1" | "1" | "mirror" | "raid4" | "4" | "raid5" | "5" | "raid6" | "6" | "raid10" | "10" => {}
        _ => place.fail(
            "level",
            "must be linear, raid0, raid1, raid4, raid5, raid6 or raid10",
        ),
    }
    let devices = place.list("devices");
    if devices.is_empty() {
        place.fail("devices", "are needed");
    }
    for (index, device) in devices.iter().enumerate() {
        place.fail_if(
            path(device.as_str().unwrap_or_default()),
            format!("devices.{index}"),
        );
    }
}
