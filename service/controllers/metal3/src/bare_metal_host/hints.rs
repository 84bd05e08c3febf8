//! Chooses the disk that the hints of a BareMetalHost name. Source: docs/protocol/kube-controllers.md#7 (installation disk).

mod names;

use muster_resources::inventory::HostDisk;
use muster_resources::metal3::RootDeviceHints;
use muster_resources::metal3::names::value;
use names::{fits_wwn, holds, is, is_device, is_serial};

/// Bytes of a gigabyte, as disks are sold.
const GIGABYTE: u64 = 1_000_000_000;

/// The value of an Agent's `installation_disk_id`; `None`: there are no hints, or the disks are not known yet.
///
/// The disk is the first one that can be installed to and matches all hints, a multipath device before its single paths.
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
    let size = u64::try_from(disk.size_bytes.unwrap_or_default()).unwrap_or_default();
    let is_large = hints
        .min_size_gigabytes
        .is_none_or(|least| size >= least.saturating_mul(GIGABYTE));
    let turns = disk.drive_type.as_deref() == Some("HDD");
    is_device(&hints.device_name, disk)
        && is(&hints.hctl, disk.hctl.as_deref())
        && holds(&hints.model, disk.model.as_deref())
        && holds(&hints.vendor, disk.vendor.as_deref())
        && is_serial(&hints.serial_number, disk)
        && is_large
        && fits_wwn(hints, disk)
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
    fn names_fit_in_each_form_that_inspections_write() {
        let disks = [
            json!({"name": "sda", "serial": "S-A", "wwn": "0x5000c500a0b0c0d1", "model": "ST4000NM0035-1V4107", "hctl": "0:0:1:0",
                   "byPath": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0", "byId": "/dev/disk/by-id/wwn-0x5000c500a0b0c0d1"}),
            json!({"name": "sdb", "serial": "PDNLH0BRH9S0AB", "wwn": "0x600508b1001c8d1e26e4a1b2c3d4e5f6", "model": "LOGICAL_VOLUME",
                   "vendor": "HPE     ", "byId": "/dev/disk/by-id/wwn-0x600508b1001c8d1e26e4a1b2c3d4e5f6"}),
            json!({"name": "nvme0n1", "serial": "S64 GNE0", "model": "Samsung SSD 980", "wwn": "/dev/disk/by-id/nvme-eui.0025388b710116a1"}),
            json!({"name": "nvme1n1", "serial": "S64HNE0", "wwn": "eui.36434630529000010025385800000001"}),
            json!({"name": "vda", "serial": "disk-one"}),
        ]
        .map(disk_of);
        let named = |hints: &Value| {
            let hints: RootDeviceHints = serde_json::from_value(hints.clone()).unwrap();
            disk(Some(&hints), &disks)
        };
        for (wanted, fit) in [
            (
                "sda",
                vec![
                    json!({"wwn": "0x5000C500A0B0C0D1"}),
                    json!({"wwn": "naa.5000c500a0b0c0d1"}),
                    json!({"wwn": " 5000c500a0b0c0d1 "}),
                    json!({"wwnWithExtension": "0x5000c500a0b0c0d1"}),
                    json!({"serialNumber": "s-a"}),
                    json!({"serialNumber": "5000C500A0B0C0D1"}),
                    json!({"serialNumber": "35000c500a0b0c0d1"}),
                    json!({"serialNumber": "ST4000NM0035-1V4107_S-A"}),
                    json!({"hctl": " 0:0:1:0"}),
                    json!({"deviceName": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"}),
                    json!({"deviceName": "/dev/disk/by-id/wwn-0x5000c500a0b0c0d1"}),
                    json!({"deviceName": "/dev/disk/by-id/scsi-35000c500a0b0c0d1"}),
                    json!({"deviceName": "/dev/disk/by-id/ata-ST4000NM0035-1V4107_S-A"}),
                ],
            ),
            (
                "sdb",
                vec![
                    json!({"wwn": "0x600508b1001c8d1e"}),
                    json!({"wwn": "0x600508b1001c8d1e26e4a1b2c3d4e5f6"}),
                    json!({"wwnWithExtension": "naa.600508B1001C8D1E26E4A1B2C3D4E5F6"}),
                    json!({"wwnVendorExtension": "0x26e4a1b2c3d4e5f6"}),
                    json!({"wwn": "0x600508b1001c8d1e", "wwnVendorExtension": "0x26E4A1B2C3D4E5F6"}),
                    json!({"model": "logical volume"}),
                    json!({"vendor": "hpe"}),
                ],
            ),
            (
                "nvme0n1",
                vec![
                    json!({"wwn": "eui.0025388b710116a1"}),
                    json!({"wwn": "0x0025388B710116A1"}),
                    json!({"serialNumber": "S64_GNE0"}),
                    json!({"model": "Samsung_SSD"}),
                    json!({"model": "ssd 980"}),
                    json!({"deviceName": "/dev/disk/by-id/nvme-Samsung_SSD_980_S64_GNE0"}),
                    json!({"deviceName": "/dev/disk/by-id/nvme-eui.0025388b710116a1"}),
                ],
            ),
            (
                "nvme1n1",
                vec![json!({"wwn": "eui.36434630529000010025385800000001"})],
            ),
            (
                "vda",
                vec![json!({"deviceName": "/dev/disk/by-id/virtio-disk-one"})],
            ),
            (
                "/dev/not-found-by-hints",
                vec![
                    json!({"wwn": "0x600508b1001c8d1f"}),
                    json!({"wwn": "0x600508b1"}),
                    json!({"wwnWithExtension": "0x600508b1001c8d1e"}),
                    json!({"wwnVendorExtension": "0x5000c500a0b0c0d1"}),
                    // A name of NVMe; half a name does not match.
                    json!({"wwn": "eui.3643463052900001"}),
                    json!({"serialNumber": "A"}),
                    json!({"hctl": "0:0:1:1"}),
                    json!({"deviceName": "/dev/disk/by-id/wwn-0x5000c500a0b0c0d2"}),
                    json!({"deviceName": "/dev/disk/by-path/pci-0000:00:1f.2-ata-2"}),
                ],
            ),
        ] {
            for hints in fit {
                assert_eq!(named(&hints).as_deref(), Some(wanted), "{hints}");
            }
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
