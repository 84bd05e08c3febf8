//! Chooses the disk that the hints of a BareMetalHost name. Source: docs/protocol/kube-controllers.md#7 (installation disk).

use muster_resources::inventory::HostDisk;
use muster_resources::metal3::RootDeviceHints;
use muster_resources::metal3::names::value;

/// Bytes of a gigabyte, as disks are sold.
const GIGABYTE: u64 = 1_000_000_000;

/// The value of an Agent's `installation_disk_id`; `None`: the hints say nothing, or the disks are not known yet.
///
/// It is the first disk that can be installed to and fits all hints, a multipath device before its single paths.
pub fn disk(hints: Option<&RootDeviceHints>, disks: &[HostDisk]) -> Option<String> {
    let hints = hints.filter(|hints| **hints != RootDeviceHints::default())?;
    if disks.is_empty() {
        return None;
    }
    let fit: Vec<&HostDisk> = disks
        .iter()
        .filter(|disk| is_eligible(disk) && fits(hints, disk))
        .collect();
    let is_multipath = |disk: &&&HostDisk| disk.drive_type.as_deref() == Some("Multipath");
    let chosen = fit.iter().find(is_multipath).or(fit.first());
    Some(chosen.map_or_else(|| value::NO_DISK_FITS.to_owned(), |disk| disk.id.clone()))
}

fn is_eligible(disk: &HostDisk) -> bool {
    disk.installation_eligibility
        .as_ref()
        .is_some_and(|eligibility| eligibility.eligible == Some(true))
}

fn fits(hints: &RootDeviceHints, disk: &HostDisk) -> bool {
    let is = |hint: &str, found: &Option<String>| hint.is_empty() || found.as_deref() == Some(hint);
    let holds = |hint: &str, found: &Option<String>| {
        let found = found.as_deref().unwrap_or_default().to_lowercase();
        found.contains(&hint.to_lowercase())
    };
    let name = &hints.device_name;
    let has_name = is(name, &disk.path) || is(name, &disk.by_path) || is(name, &disk.by_id);
    let size = u64::try_from(disk.size_bytes.unwrap_or_default()).unwrap_or_default();
    let is_large = hints
        .min_size_gigabytes
        .is_none_or(|least| size >= least.saturating_mul(GIGABYTE));
    let turns = disk.drive_type.as_deref() == Some("HDD");
    has_name
        && is(&hints.hctl, &disk.hctl)
        && holds(&hints.model, &disk.model)
        && holds(&hints.vendor, &disk.vendor)
        && is(&hints.serial_number, &disk.serial)
        && is_large
        && is(&hints.wwn, &disk.wwn)
        && is(&hints.wwn_with_extension, &disk.wwn)
        && disk
            .wwn
            .as_deref()
            .unwrap_or_default()
            .ends_with(&hints.wwn_vendor_extension)
        && hints.rotational.is_none_or(|wanted| wanted == turns)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn disk_of(value: Value) -> HostDisk {
        let mut disk = json!({
            "id": value["name"], "path": format!("/dev/{}", value["name"].as_str().unwrap()),
            "installationEligibility": {"eligible": true, "notEligibleReasons": []},
        });
        for (key, value) in value.as_object().unwrap() {
            disk[key] = value.clone();
        }
        serde_json::from_value(disk).unwrap()
    }

    fn disks() -> Vec<HostDisk> {
        [
            json!({"name": "sda", "driveType": "HDD", "sizeBytes": 4_000_000_000_000_i64, "vendor": "ACME", "model": "Slow 4000",
                   "serial": "s1", "wwn": "0x5000c500", "hctl": "0:0:0:0", "byPath": "/dev/disk/by-path/pci-1"}),
            json!({"name": "nvme0n1", "driveType": "SSD", "sizeBytes": 960_000_000_000_i64, "model": "Quick 960"}),
            json!({"name": "sdb", "driveType": "SSD", "sizeBytes": 480_000_000_000_i64, "model": "Quick 480"}),
            json!({"name": "dm-0", "driveType": "Multipath", "sizeBytes": 480_000_000_000_i64, "model": "Quick 480"}),
            json!({"name": "sdz", "driveType": "SSD", "sizeBytes": 1, "model": "Tiny",
                   "installationEligibility": {"eligible": false, "notEligibleReasons": ["too small"]}}),
        ]
        .map(disk_of)
        .into()
    }

    fn chosen(hints: Value) -> Option<String> {
        let hints: RootDeviceHints = serde_json::from_value(hints).unwrap();
        disk(Some(&hints), &disks())
    }

    #[test]
    fn the_first_disk_that_fits_all_hints_is_taken_and_multipath_before_its_paths() {
        for (hints, wanted) in [
            (json!({"deviceName": "/dev/sdb"}), "sdb"),
            (json!({"deviceName": "/dev/disk/by-path/pci-1"}), "sda"),
            (json!({"rotational": false}), "dm-0"),
            (json!({"rotational": true}), "sda"),
            (json!({"rotational": false, "minSizeGigabytes": 500}), "nvme0n1"),
            (json!({"model": "quick 960"}), "nvme0n1"),
            (json!({"vendor": "acme", "serialNumber": "s1"}), "sda"),
            (json!({"hctl": "0:0:0:0", "wwn": "0x5000c500"}), "sda"),
            (json!({"model": "Quick 480"}), "dm-0"),
        ] {
            assert_eq!(chosen(hints.clone()).as_deref(), Some(wanted), "{hints}");
        }
    }

    #[test]
    fn hints_that_fit_no_disk_name_one_that_cannot_be_so_that_the_installation_says_it() {
        for hints in [
            json!({"deviceName": "/dev/sdq"}),
            json!({"model": "Tiny"}),
            json!({"minSizeGigabytes": 9000}),
            json!({"vendor": "acme", "serialNumber": "other"}),
        ] {
            assert_eq!(
                chosen(hints.clone()).as_deref(),
                Some("/dev/not-found-by-hints"),
                "{hints}"
            );
        }
    }

    #[test]
    fn without_hints_or_disks_nothing_is_said() {
        assert_eq!(chosen(json!({})), None);
        assert_eq!(disk(None, &disks()), None);
        let hints = serde_json::from_value(json!({"rotational": true})).unwrap();
        assert_eq!(disk(Some(&hints), &[]), None);
    }
}
