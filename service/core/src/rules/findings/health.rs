//! Finds sick hardware, by what the host's agent reports of its sensors, and machines that came back smaller than they were approved.

use muster_api::host::HostFinding;
use muster_api::steps::{HealthDisk, HealthDiskFault, HealthLink, HealthReport, HealthTemperature};

use super::finding::finding;
use super::kinds::{DISK_FAILING, LINK_SLOW, MEMORY_ERRORS, OVERHEATING, SMALLER_THAN_APPROVED};
use crate::record::Host;
use crate::rules::{hardware, health};

/// Corrected errors of memory from which on a module counts as sick: single ones are usual.
const MANY_CORRECTED: u64 = 100;

/// Findings of the last report of the host's sensors.
pub(super) fn of_sensors(host: &Host) -> Vec<HostFinding> {
    let Some(health) = &host.data.health else {
        return Vec::new();
    };
    let report = &health.last;
    let failing = report.disks.iter().filter(|disk| !disk.faults.is_empty());
    let hot = report.temperatures.iter().filter(|one| health::is_hot(one));
    let mut findings: Vec<HostFinding> = failing.map(disk_failing).collect();
    findings.extend(hot.filter_map(overheating));
    findings.extend(memory_errors(report));
    findings.extend(report.slow_links.iter().map(link_slow));
    findings
}

fn disk_failing(disk: &HealthDisk) -> HostFinding {
    let faults: Vec<&str> = disk.faults.iter().map(|fault| told(*fault)).collect();
    let message = format!(
        "The disk {} reports that {}. Replace it, or choose another disk to install to",
        disk.name,
        faults.join(" and ")
    );
    finding(DISK_FAILING, disk.name.as_str(), [], message)
}

fn told(fault: HealthDiskFault) -> &'static str {
    match fault {
        HealthDiskFault::FailurePredicted => "it is about to fail",
        HealthDiskFault::SpareLow => "it has little spare space left",
        HealthDiskFault::Unreliable => "errors have made it unreliable",
        HealthDiskFault::ReadOnly => "it takes no more writes",
        HealthDiskFault::BackupFailed => "the backup of its cache failed",
        HealthDiskFault::Other => "it has a fault",
    }
}

/// The message has the limit alone, so that it stays while the temperature changes.
fn overheating(one: &HealthTemperature) -> Option<HostFinding> {
    let message = format!(
        "The sensor {} is at its limit of {} °C or above. See to fans, air flow and dust",
        one.sensor, one.limit?
    );
    Some(finding(OVERHEATING, one.sensor.as_str(), [], message))
}

fn memory_errors(report: &HealthReport) -> Option<HostFinding> {
    let what = if report.memory_uncorrected > 0 {
        "errors of its memory could not be corrected since its boot: data and programs may be wrong"
    } else if report.memory_corrected >= MANY_CORRECTED {
        "a hundred errors of its memory or more were corrected since its boot: a module is about to fail"
    } else {
        return None;
    };
    let message = format!(
        "The machine reports that {what}. The log of its kernel (EDAC) or its BMC names the module: replace that"
    );
    Some(finding(MEMORY_ERRORS, "memory", [], message))
}

fn link_slow(link: &HealthLink) -> HostFinding {
    let message = format!(
        "The link of {} runs at {} Mbit/s, and the card can do {}. See to cable, module and the setting of the switch port",
        link.interface, link.speed_mbps, link.card_mbps
    );
    finding(LINK_SLOW, link.interface.as_str(), [], message)
}

/// Fewer processors, disks or cards, or less memory, than the machine had when it was approved.
pub(super) fn smaller_than_approved(host: &Host) -> Option<HostFinding> {
    let approved = host.data.approved_size.as_ref()?;
    let lacks = hardware::lacks(approved, &hardware::size(host.inventory.as_deref()?)?);
    if lacks.is_empty() {
        return None;
    }
    let message = format!(
        "The machine is smaller than it was approved: {}. If that is as it should be, withdraw the approval and approve it again",
        lacks.join(", ")
    );
    Some(finding(SMALLER_THAN_APPROVED, "hardware", [], message))
}
