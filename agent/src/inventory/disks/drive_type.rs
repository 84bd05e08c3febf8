//! Finds the `drive_type`. Source of the rules: docs/protocol/agent-inventory.md#7.3.

use super::Properties;
use super::block::BlockDevice;

/// The first matching rule decides.
pub(super) fn of(device: &BlockDevice<'_>, properties: &Properties) -> &'static str {
    let name = device.name();
    let path = properties.get("ID_PATH").unwrap_or_default();
    let dm_uuid = device.dm_uuid().unwrap_or_default();
    if name.starts_with("dasd") {
        return dasd(device);
    }
    if path.contains("-iscsi-") {
        return "iSCSI";
    }
    if path.contains("-fc-") || path.starts_with("fc-") {
        return "FC";
    }
    if dm_uuid.starts_with("mpath-") {
        return "Multipath";
    }
    if dm_uuid.starts_with("LVM-") {
        return "LVM";
    }
    if name.starts_with("md") {
        return "RAID";
    }
    by_name(name, || {
        device.text("queue/rotational").is_ok_and(|text| text == "1")
    })
}

fn by_name(name: &str, rotates: impl Fn() -> bool) -> &'static str {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&["fd"]) {
        "FDD"
    } else if starts(&["sd", "hd", "vd", "xvd"]) {
        if rotates() { "HDD" } else { "SSD" }
    } else if starts(&["nvme", "mmc"]) {
        "SSD"
    } else if starts(&["sr"]) {
        "ODD"
    } else {
        "Unknown"
    }
}

/// The channel device two levels above the block folder has the `discipline`.
fn dasd(device: &BlockDevice<'_>) -> &'static str {
    let folder = device
        .device()
        .and_then(|sysfs| sysfs.path().rsplitn(3, '/').nth(2).map(str::to_owned))
        .unwrap_or_default();
    let text = |file: &str| {
        device
            .root()
            .text(&format!("{folder}/{file}"))
            .unwrap_or_default()
    };
    match text("discipline").as_str() {
        "ECKD" if text("ese") == "1" => "ECKD (ESE)",
        "ECKD" => "ECKD",
        "FBA" => "FBA",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_the_type_where_nothing_else_does() {
        for (name, rotates, kind) in [
            ("sda", true, "HDD"),
            ("sda", false, "SSD"),
            ("xvdb", false, "SSD"),
            ("nvme0n1", true, "SSD"),
            ("mmcblk0", false, "SSD"),
            ("sr0", true, "ODD"),
            ("fd0", true, "FDD"),
            ("nbd0", false, "Unknown"),
            ("pmem0", false, "Unknown"),
        ] {
            assert_eq!(by_name(name, || rotates), kind, "{name}");
        }
    }
}
