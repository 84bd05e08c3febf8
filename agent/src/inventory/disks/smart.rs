//! Reads what a disk reports on its own health: the log of NVMe, the SMART status of ATA, the informational exceptions of SCSI. Sources:
//! NVM Express base specification 2.0, figure 207; ACS-3, §7.2 and §7.48.8; SAT-3, §12.2.2; SPC-4, §6.8 and §7.3.12.

use std::time::Duration;

use muster_api::steps::{HealthDisk, HealthDiskFault};

use super::block::BlockDevice;
use super::transfer::{open, send};
use crate::passthrough::{
    self, ALL_NAMESPACES, ATA_PASS_THROUGH_16, Data, GET_LOG_PAGE, NvmeAdmin, ScsiAnswer,
};
use crate::root::{Operation, ProbeError};

const LIMIT: Duration = Duration::from_secs(10);
/// The kernel's own limit of admin commands. It resets a controller that exceeds the limit of one, with all that the controller does.
const NVME_LIMIT: Duration = Duration::from_secs(60);
const HEALTH_LOG: u32 = 0x02;
const HEALTH_LOG_BYTES: usize = 512;
const CHECK_POWER_MODE: u8 = 0xe5;
/// Counts of CHECK POWER MODE in which the disk does not turn: standby, and that of extended power conditions.
const STANDBY: std::ops::RangeInclusive<u8> = 0x00..=0x01;
const SMART: u8 = 0xb0;
const RETURN_STATUS: u8 = 0xda;
/// Middle and high byte of the LBA, in the command and where nothing is wrong.
const GOOD: (u8, u8) = (0x4f, 0xc2);
/// Likewise, where a threshold is exceeded.
const EXCEEDED: (u8, u8) = (0xf4, 0x2c);
/// Additional sense code, and its qualifier: ATA pass-through information available.
const ATA_INFORMATION: (u8, u8) = (0x00, 0x1d);
const LOG_SENSE: u8 = 0x4d;
/// Cumulative values of the page of informational exceptions.
const EXCEPTIONS: u8 = 0x40 | 0x2f;
const EXCEPTIONS_BYTES: u8 = 64;
/// Additional sense code: failure prediction threshold exceeded.
const FAILURE_PREDICTED: u8 = 0x5d;

/// What a disk reports on itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Smart {
    Report(HealthDisk),
    /// It has no such report.
    Absent,
    /// It sleeps, and is not woken for this, or has not answered.
    Silent,
}

/// The report of a disk on itself. Removable media, those of BMCs among them, have none.
pub(crate) fn smart(device: &BlockDevice<'_>) -> Smart {
    let name = device.name();
    if name.starts_with("nvme") {
        let key = format!("disk.{name}.smart_log");
        let page = device.asked_bytes(&key, || health_log(name));
        let disk = page.and_then(|page| of_log(name, &page));
        return disk.map_or(Smart::Silent, Smart::Report);
    }
    if !name.starts_with("sd") || device.text("removable").is_ok_and(|text| text == "1") {
        return Smart::Absent;
    }
    let key = format!("disk.{name}.power_mode");
    let mode = device.root().probe(&key, || power_mode(name));
    if mode.is_ok_and(|mode| STANDBY.contains(&mode)) {
        return Smart::Silent;
    }
    let is_failing = match device.ata_identify(false) {
        Some(identity) if has_smart(&identity) => {
            let key = format!("disk.{name}.smart_status");
            let status = device.root().probe(&key, || exceeds_threshold(name));
            let Ok(is_failing) = status else {
                return Smart::Silent;
            };
            is_failing
        }
        Some(_) => return Smart::Absent,
        None => {
            let key = format!("disk.{name}.exceptions");
            let page = device.asked_bytes(&key, || exceptions(name));
            let Some(is_failing) = page.and_then(|page| predicts_failure(&page)) else {
                return Smart::Absent;
            };
            is_failing
        }
    };
    Smart::Report(HealthDisk {
        name: name.to_owned(),
        faults: is_failing
            .then_some(HealthDiskFault::FailurePredicted)
            .into_iter()
            .collect(),
        ..HealthDisk::default()
    })
}

/// The health log of a controller. Its warning about the temperature is left out: that is a sensor of its own.
fn of_log(name: &str, page: &[u8]) -> Option<HealthDisk> {
    let page: &[u8; HEALTH_LOG_BYTES] = page.try_into().ok()?;
    let warnings = [
        (0, HealthDiskFault::SpareLow),
        (2, HealthDiskFault::Unreliable),
        (3, HealthDiskFault::ReadOnly),
        (4, HealthDiskFault::BackupFailed),
    ];
    let faults = warnings.into_iter().filter(|(bit, _)| page[0] & (1 << bit) != 0);
    let mut low = [0; 8];
    low.copy_from_slice(&page[160..168]);
    let is_larger = page[168..176].iter().any(|byte| *byte != 0);
    Some(HealthDisk {
        name: name.to_owned(),
        faults: faults.map(|(_, fault)| fault).collect(),
        wear_percent: Some(page[5]),
        media_errors: if is_larger {
            u64::MAX
        } else {
            u64::from_le_bytes(low)
        },
    })
}

fn health_log(name: &str) -> Result<Vec<u8>, ProbeError> {
    let path = format!("/dev/{name}");
    let file = open(name)?;
    let mut page = vec![0; HEALTH_LOG_BYTES];
    let words = (HEALTH_LOG_BYTES / 4 - 1) as u32;
    let command = NvmeAdmin {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        cdw10: HEALTH_LOG | words << 16,
        limit: NVME_LIMIT,
    };
    let status = passthrough::nvme_admin(&file, &command, &mut page)
        .map_err(ProbeError::failed(Operation::Command, path.as_str()))?;
    match status {
        0 => Ok(page),
        status => Err(ProbeError::content(
            path,
            format!("answers Get Log Page with status {status:#06x}"),
        )),
    }
}

/// Words 82 and 85 of IDENTIFY DEVICE: it has SMART, and that is on.
fn has_smart(identity: &[u8]) -> bool {
    let is_set = |word: usize| identity.get(2 * word).is_some_and(|byte| byte & 1 != 0);
    is_set(82) && is_set(85)
}

/// SMART RETURN STATUS.
fn exceeds_threshold(name: &str) -> Result<bool, ProbeError> {
    let answer = without_data(name, SMART, RETURN_STATUS, GOOD)?;
    match registers(&answer.sense) {
        Some(GOOD) => Ok(false),
        Some(EXCEEDED) => Ok(true),
        _ => Err(refused(name, &answer)),
    }
}

/// CHECK POWER MODE, which wakes no disk.
fn power_mode(name: &str) -> Result<u8, ProbeError> {
    let answer = without_data(name, CHECK_POWER_MODE, 0, (0, 0))?;
    count(&answer.sense).ok_or_else(|| refused(name, &answer))
}

/// A command of ATA without data, whose answer are registers.
fn without_data(
    name: &str,
    ata: u8,
    feature: u8,
    (middle, high): (u8, u8),
) -> Result<ScsiAnswer, ProbeError> {
    let mut command = [0_u8; 16];
    command[0] = ATA_PASS_THROUGH_16;
    // No data; the registers are returned as sense data.
    command[1] = 3 << 1;
    command[2] = 0x20;
    command[4] = feature;
    command[10] = middle;
    command[12] = high;
    command[14] = ata;
    let file = open(name)?;
    passthrough::scsi(&file, &command, Data::Nothing, LIMIT)
        .map_err(ProbeError::failed(Operation::Command, format!("/dev/{name}")))
}

fn refused(name: &str, answer: &ScsiAnswer) -> ProbeError {
    ProbeError::Command {
        path: format!("/dev/{name}"),
        command: ATA_PASS_THROUGH_16,
        status: answer.status,
        host_status: answer.host_status,
    }
}

/// Middle and high byte of the LBA in sense data of either format.
fn registers(sense: &[u8; 32]) -> Option<(u8, u8)> {
    match sense[0] & 0x7f {
        // The first descriptor is that of ATA.
        0x72 if sense[8] == 0x09 => Some((sense[17], sense[19])),
        0x70 => Some((sense[10], sense[11])),
        _ => None,
    }
}

/// The count in sense data of either format; `None`: the sense data are no registers, but the refusal of a disk that is none of ATA.
fn count(sense: &[u8; 32]) -> Option<u8> {
    match sense[0] & 0x7f {
        0x72 if sense[8] == 0x09 => Some(sense[13]),
        0x70 if (sense[12], sense[13]) == ATA_INFORMATION => Some(sense[6]),
        _ => None,
    }
}

fn exceptions(name: &str) -> Result<Vec<u8>, ProbeError> {
    let command = [LOG_SENSE, 0, EXCEPTIONS, 0, 0, 0, 0, 0, EXCEPTIONS_BYTES, 0];
    send(name, &command, usize::from(EXCEPTIONS_BYTES))
}

/// The first parameter of the page of informational exceptions; `None`: it is another page.
fn predicts_failure(page: &[u8]) -> Option<bool> {
    let is_page = page.first()? & 0x3f == 0x2f && *page.get(7)? >= 2;
    is_page.then_some(*page.get(8)? == FAILURE_PREDICTED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Machine;

    fn health_of(
        name: &str,
        key: &str,
        answer: serde_json::Value,
        identity: Option<[u8; 512]>,
    ) -> Option<HealthDisk> {
        let mut machine = Machine::new().answer(&format!("disk.{name}.{key}"), answer);
        if let Some(identity) = identity {
            machine = machine.answer(&format!("disk.{name}.identify"), json!(hex::encode(identity)));
        }
        match smart(&BlockDevice::named(&machine.root(), name)) {
            Smart::Report(disk) => Some(disk),
            Smart::Absent | Smart::Silent => None,
        }
    }

    fn ata(smart: u8) -> [u8; 512] {
        let mut identity = [0; 512];
        (identity[164], identity[170]) = (1, smart);
        identity
    }

    #[test]
    fn the_warnings_of_nvme_are_faults_but_for_its_temperature() {
        let mut page = [0_u8; 512];
        (page[0], page[5], page[160]) = (0b0000_0111, 101, 9);
        let disk = health_of("nvme0n1", "smart_log", json!(hex::encode(page)), None).unwrap();
        assert_eq!(
            disk.faults,
            [HealthDiskFault::SpareLow, HealthDiskFault::Unreliable]
        );
        assert_eq!((disk.wear_percent, disk.media_errors), (Some(101), 9));
        page[170] = 1;
        let many = health_of("nvme0n1", "smart_log", json!(hex::encode(page)), None).unwrap();
        assert_eq!(many.media_errors, u64::MAX);
        assert_eq!(health_of("nvme0n1", "smart_log", json!("00"), None), None);
    }

    #[test]
    fn ata_disks_with_smart_switched_on_have_a_status() {
        let faults = |answer: bool, smart: u8| {
            health_of("sda", "smart_status", json!(answer), Some(ata(smart))).map(|disk| disk.faults)
        };
        assert_eq!(faults(false, 1), Some(vec![]));
        assert_eq!(faults(true, 1), Some(vec![HealthDiskFault::FailurePredicted]));
        assert_eq!(faults(true, 0), None);
    }

    #[test]
    fn disks_that_sleep_and_removable_media_get_no_command_that_could_wake_them() {
        let found = |mode: u8, removable: &str| {
            let machine = Machine::new()
                .file("/sys/block/sda/removable", removable)
                .answer("disk.sda.power_mode", json!(mode))
                .answer("disk.sda.identify", json!(hex::encode(ata(1))))
                .answer("disk.sda.smart_status", json!(true));
            smart(&BlockDevice::named(&machine.root(), "sda"))
        };
        assert!(matches!(found(0xff, "0"), Smart::Report(_)));
        assert!(matches!(found(0x80, "0"), Smart::Report(_)), "idle");
        assert_eq!(found(0x00, "0"), Smart::Silent);
        assert_eq!(found(0x01, "0"), Smart::Silent);
        assert_eq!(found(0xff, "1"), Smart::Absent);
    }

    #[test]
    fn a_refusal_of_ata_commands_is_no_power_mode() {
        let mut sense = [0; 32];
        (sense[0], sense[2], sense[12]) = (0x70, 5, 0x20);
        assert_eq!(count(&sense), None, "an illegal request");
        (sense[2], sense[6], sense[12], sense[13]) = (1, 0xff, 0x00, 0x1d);
        assert_eq!(count(&sense), Some(0xff));
        let mut sense = [0; 32];
        (sense[0], sense[8], sense[13]) = (0x72, 0x09, 0x80);
        assert_eq!(count(&sense), Some(0x80));
        sense[8] = 0;
        assert_eq!(count(&sense), None);
    }

    #[test]
    fn scsi_disks_report_exceptions() {
        let faults = |code: u8| {
            let page = [0x2f, 0, 0, 8, 0, 0, 3, 4, code, 0, 30, 0];
            health_of("sdb", "exceptions", json!(hex::encode(page)), None).map(|disk| disk.faults)
        };
        assert_eq!(faults(0), Some(vec![]));
        assert_eq!(faults(0x5d), Some(vec![HealthDiskFault::FailurePredicted]));
        assert_eq!(predicts_failure(&[0x0d, 0, 0, 8, 0, 0, 3, 4, 0x5d]), None);
    }

    #[test]
    fn registers_are_in_either_format_of_sense_data() {
        let mut sense = [0; 32];
        (sense[0], sense[8], sense[17], sense[19]) = (0x72, 0x09, 0x4f, 0xc2);
        assert_eq!(registers(&sense), Some(GOOD));
        let mut sense = [0; 32];
        (sense[0], sense[10], sense[11]) = (0xf0, 0xf4, 0x2c);
        assert_eq!(registers(&sense), Some(EXCEEDED));
        assert_eq!(registers(&[0; 32]), None);
    }
}
