//! Measures the health of the machine: load, memory, temperatures, fans, disks' reports on themselves, errors of memory, slow links. Runs
//! no program, and reads through [`Root`].

mod edac;
mod ethtool;
mod hwmon;
mod hysteresis;
mod links;
mod load;

use std::time::Duration;

use muster_api::steps::{HealthDisk, HealthReport};

use crate::inventory::disks::smart::{Smart, smart};
use crate::inventory::disks::{block, patience};
use crate::root::Root;

pub use hysteresis::{QUIET, settled};

/// Disks that are measured.
const MAX_DISKS: usize = 64;
/// A disk without a response for this long is left out. Its commands end after 10 s.
const PATIENCE: Duration = Duration::from_secs(12);

/// Measures the machine under `root`; what cannot be read is left out. Of a disk that sleeps or does not answer, its part of the report
/// `before` stands. Takes as long as its slowest sensor and disk.
pub fn measure(root: &Root, before: Option<&HealthReport>) -> HealthReport {
    let sensors = hwmon::sensors(root);
    let errors = edac::errors(root);
    HealthReport {
        booted_at: load::booted_at(root).unwrap_or(0),
        bios_version: root.text("/sys/class/dmi/id/bios_version").unwrap_or_default(),
        load_percent: load::load_percent(root).unwrap_or(0),
        memory_percent: load::memory_percent(root).unwrap_or(0),
        temperatures: sensors.temperatures,
        fans: sensors.fans,
        disks: disks(
            root,
            before.map(|before| before.disks.as_slice()).unwrap_or_default(),
        ),
        memory_corrected: errors.corrected,
        memory_uncorrected: errors.uncorrected,
        slow_links: links::slow_links(root),
    }
}

fn disks(root: &Root, before: &[HealthDisk]) -> Vec<HealthDisk> {
    let listed = block::list(root).unwrap_or_default();
    let names: Vec<String> = listed
        .iter()
        .take(MAX_DISKS)
        .map(|disk| disk.name().to_owned())
        .collect();
    let answers: Vec<Smart> = if root.answers_for_this_machine() {
        let answers = patience::each("health", names.clone(), PATIENCE, |name| {
            smart(&block::BlockDevice::named(&Root::live(), name))
        });
        let answers = answers.into_iter();
        answers.map(|answer| answer.unwrap_or(Smart::Silent)).collect()
    } else {
        listed.iter().take(MAX_DISKS).map(smart).collect()
    };
    let stands = |name: &str| before.iter().find(|disk| disk.name == name).cloned();
    names
        .iter()
        .zip(answers)
        .filter_map(|(name, answer)| match answer {
            Smart::Report(disk) => Some(disk),
            Smart::Silent => stands(name),
            Smart::Absent => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use muster_api::steps::{HealthDiskFault, HealthFan, HealthLink, HealthTemperature};
    use serde_json::json;

    use super::*;
    use crate::testing::Machine;

    fn smart_log(warning: u8, worn: u8, media_errors: u64) -> String {
        let mut page = [0_u8; 512];
        page[0] = warning;
        page[5] = worn;
        page[160..168].copy_from_slice(&media_errors.to_le_bytes());
        hex::encode(page)
    }

    #[test]
    fn a_machine_is_measured_from_its_files_and_ioctls() {
        let machine = Machine::of(&[
            ("/proc/stat", "cpu  1 2 3\nbtime 1700000000\n"),
            ("/sys/class/dmi/id/bios_version", "2.14.1\n"),
            ("/proc/loadavg", "0.10 6.00 0.30 1/200 4711\n"),
            (
                "/proc/meminfo",
                "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 250 kB\n",
            ),
            ("/sys/devices/system/cpu/online", "0-2,5\n"),
            ("/sys/class/hwmon/hwmon0/name", "coretemp\n"),
            ("/sys/class/hwmon/hwmon0/temp1_input", "61000\n"),
            ("/sys/class/hwmon/hwmon0/temp1_crit", "100000\n"),
            ("/sys/class/hwmon/hwmon0/temp2_input", "63500\n"),
            ("/sys/class/hwmon/hwmon0/temp2_crit", "100000\n"),
            ("/sys/class/hwmon/hwmon1/name", "nct6775\n"),
            ("/sys/class/hwmon/hwmon1/fan1_input", "1200\n"),
            ("/sys/devices/system/edac/mc/mc0/ce_count", "7\n"),
            ("/sys/devices/system/edac/mc/mc0/ue_count", "0\n"),
            ("/sys/devices/system/edac/mc/mc1/ce_count", "2\n"),
            ("/sys/devices/system/edac/mc/mc1/ue_count", "1\n"),
        ])
        .link("/sys/class/hwmon/hwmon0/device", "../../../coretemp.0")
        .nic("pci0/net/eth0", &[("speed", "100"), ("operstate", "up")])
        .file("/sys/devices/pci0/net/eth0/device/vendor", "0x8086\n")
        .answer("ethtool.eth0.supported", json!([0b10_1111, 0, 0]))
        .disk("pci0/nvme/nvme0/nvme0n1", &[("size", "100")])
        .answer("disk.nvme0n1.smart_log", json!(smart_log(0b1001, 12, 3)));
        let expected = HealthReport {
            booted_at: 1_700_000_000,
            bios_version: "2.14.1".to_owned(),
            load_percent: 150,
            memory_percent: 75,
            temperatures: vec![HealthTemperature {
                sensor: "coretemp.0".to_owned(),
                celsius: 64,
                limit: Some(100),
            }],
            fans: vec![HealthFan {
                sensor: "nct6775 fan1".to_owned(),
                rpm: 1200,
            }],
            disks: vec![HealthDisk {
                name: "nvme0n1".to_owned(),
                faults: vec![HealthDiskFault::SpareLow, HealthDiskFault::ReadOnly],
                wear_percent: Some(12),
                media_errors: 3,
            }],
            memory_corrected: 9,
            memory_uncorrected: 1,
            slow_links: vec![HealthLink {
                interface: "eth0".to_owned(),
                speed_mbps: 100,
                card_mbps: 1000,
            }],
        };
        assert_eq!(measure(&machine.root(), None), expected);
    }

    #[test]
    fn a_machine_without_sensors_is_healthy() {
        assert_eq!(measure(&Machine::new().root(), None), HealthReport::default());
    }

    #[test]
    fn the_report_of_a_disk_that_sleeps_stands_and_that_of_one_that_is_gone_does_not() {
        let machine = Machine::new()
            .disk("pci0/host0/block/sda", &[("removable", "0")])
            .answer("disk.sda.power_mode", json!(0))
            .disk("pci0/host1/block/sdb", &[("removable", "0")]);
        let sick = |name: &str| HealthDisk {
            name: name.to_owned(),
            faults: vec![HealthDiskFault::FailurePredicted],
            ..HealthDisk::default()
        };
        let before = HealthReport {
            disks: vec![sick("sda"), sick("sdb"), sick("sdc")],
            ..HealthReport::default()
        };
        assert_eq!(measure(&machine.root(), Some(&before)).disks, [sick("sda")]);
        assert_eq!(measure(&machine.root(), None).disks, []);
    }
}
