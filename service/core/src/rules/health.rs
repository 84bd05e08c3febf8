//! Keeps the health of a machine within limits: the last report, the worst of its day, and the highest values of 24 hours: some 600
//! bytes, and 3 KB at most. What follows from it are [findings](crate::rules::findings), which keep a host from nothing.

use std::cmp::Reverse;

use muster_api::steps::{HealthDisk, HealthFan, HealthLink, HealthReport, HealthTemperature};
use muster_api::time::Timestamp;

use crate::record::{Health, HealthHour, WorstOfDay};
use crate::text::one_line;

/// Temperatures that are kept.
const MAX_TEMPERATURES: usize = 6;
/// Fans that are kept.
const MAX_FANS: usize = 4;
/// Disks that are kept.
const MAX_DISKS: usize = 6;
/// Links that are kept.
const MAX_LINKS: usize = 4;
/// Faults of a disk that are kept.
const MAX_FAULTS: usize = 3;
/// Longest name of a sensor, a disk or an interface, bytes.
const MAX_NAME: usize = 24;
/// Longest version of a firmware, bytes.
const MAX_VERSION: usize = 48;
/// Hours that are kept.
const HOURS: i64 = 24;
const HOUR_SECS: i64 = 3600;
const DAY_SECS: i64 = 24 * HOUR_SECS;
/// Temperatures outside of these are no measurements, °C.
const PLAUSIBLE: std::ops::RangeInclusive<i16> = -60..=200;
/// Boots that differ by less are one boot: the clock was corrected meanwhile, seconds.
const SAME_BOOT_SECS: i64 = 300;

/// The health of a host after `report`; `None`: the report is the last one again, and nothing changes.
pub fn noted(before: Option<&Health>, report: &HealthReport, now: Timestamp) -> Option<Health> {
    let last = bounded(report);
    if before.is_some_and(|before| before.last == last) {
        return None;
    }
    // Until this report the values of the one before stood.
    let stood = before.filter(|before| is_same_boot(&before.last, &last));
    let peak = Peak::of(&last).or(stood.map(|before| Peak::of(&before.last)));
    Some(Health {
        at: now,
        worst: worst(before, peak, now),
        hours: hours(before, peak, now),
        last,
    })
}

/// Of the hottest sensor, °C; `None`: no sensor was reported.
pub fn celsius(report: &HealthReport) -> Option<i16> {
    report.temperatures.iter().map(|one| one.celsius).max()
}

/// True for a sensor at its limit or above.
pub fn is_hot(one: &HealthTemperature) -> bool {
    one.limit.is_some_and(|limit| one.celsius >= limit)
}

fn is_same_boot(one: &HealthReport, other: &HealthReport) -> bool {
    one.booted_at.abs_diff(other.booted_at) < SAME_BOOT_SECS.unsigned_abs()
}

/// Values of which the highest are kept.
#[derive(Debug, Clone, Copy)]
struct Peak {
    celsius: Option<i16>,
    load_percent: u32,
    memory_percent: u8,
}

impl Peak {
    fn of(report: &HealthReport) -> Self {
        Self {
            celsius: celsius(report),
            load_percent: report.load_percent,
            memory_percent: report.memory_percent,
        }
    }

    /// The higher of both, each value by itself.
    fn or(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self {
            celsius: self.celsius.max(other.celsius),
            load_percent: self.load_percent.max(other.load_percent),
            memory_percent: self.memory_percent.max(other.memory_percent),
        }
    }
}

fn worst(before: Option<&Health>, peak: Peak, now: Timestamp) -> WorstOfDay {
    let day = now.timestamp().div_euclid(DAY_SECS);
    let known = before.map(|before| before.worst).filter(|worst| worst.day == day);
    let peak = peak.or(known.map(|worst| Peak {
        celsius: worst.celsius,
        load_percent: worst.load_percent,
        memory_percent: worst.memory_percent,
    }));
    WorstOfDay {
        day,
        celsius: peak.celsius,
        load_percent: peak.load_percent,
        memory_percent: peak.memory_percent,
    }
}

fn hours(before: Option<&Health>, peak: Peak, now: Timestamp) -> Vec<HealthHour> {
    let hour = now.timestamp().div_euclid(HOUR_SECS);
    let known = before.into_iter().flat_map(|before| &before.hours).copied();
    let mut hours: Vec<HealthHour> = known
        .filter(|known| known.hour > hour - HOURS && known.hour <= hour)
        .collect();
    let mut present = HealthHour {
        hour,
        celsius: peak.celsius,
        load_percent: peak.load_percent,
    };
    if let Some(last) = hours.pop_if(|last| last.hour == hour) {
        present.celsius = present.celsius.max(last.celsius);
        present.load_percent = present.load_percent.max(last.load_percent);
    }
    hours.push(present);
    hours
}

/// The report with what matters most of each list, in an order that does not depend on that of the report.
fn bounded(report: &HealthReport) -> HealthReport {
    HealthReport {
        booted_at: report.booted_at,
        bios_version: short(&report.bios_version, MAX_VERSION),
        load_percent: report.load_percent,
        memory_percent: report.memory_percent,
        temperatures: temperatures(&report.temperatures),
        fans: fans(&report.fans),
        disks: disks(&report.disks),
        memory_corrected: report.memory_corrected,
        memory_uncorrected: report.memory_uncorrected,
        slow_links: links(&report.slow_links),
    }
}

/// Those beyond their limits, then the hottest.
fn temperatures(all: &[HealthTemperature]) -> Vec<HealthTemperature> {
    let plausible = all.iter().filter(|one| PLAUSIBLE.contains(&one.celsius));
    let mut kept: Vec<HealthTemperature> = plausible
        .map(|one| HealthTemperature {
            sensor: name(&one.sensor),
            celsius: one.celsius,
            limit: one.limit.filter(|limit| PLAUSIBLE.contains(limit)),
        })
        .collect();
    kept.sort_by(|a, b| {
        let key = |one: &HealthTemperature| (Reverse(is_hot(one)), Reverse(one.celsius));
        key(a).cmp(&key(b)).then_with(|| a.sensor.cmp(&b.sensor))
    });
    kept.truncate(MAX_TEMPERATURES);
    kept
}

/// The slowest.
fn fans(all: &[HealthFan]) -> Vec<HealthFan> {
    let mut kept: Vec<HealthFan> = all
        .iter()
        .map(|fan| HealthFan {
            sensor: name(&fan.sensor),
            rpm: fan.rpm,
        })
        .collect();
    kept.sort_by(|a, b| a.rpm.cmp(&b.rpm).then_with(|| a.sensor.cmp(&b.sensor)));
    kept.truncate(MAX_FANS);
    kept
}

/// Those with faults, then those that are worn most.
fn disks(all: &[HealthDisk]) -> Vec<HealthDisk> {
    let mut kept: Vec<HealthDisk> = all.iter().map(disk).collect();
    kept.sort_by(|a, b| {
        let key = |one: &HealthDisk| {
            (
                one.faults.is_empty(),
                Reverse(one.wear_percent),
                Reverse(one.media_errors),
            )
        };
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    kept.truncate(MAX_DISKS);
    kept
}

fn disk(disk: &HealthDisk) -> HealthDisk {
    let mut faults = disk.faults.clone();
    faults.sort_unstable();
    faults.dedup();
    faults.truncate(MAX_FAULTS);
    HealthDisk {
        name: name(&disk.name),
        faults,
        wear_percent: disk.wear_percent,
        media_errors: disk.media_errors,
    }
}

/// The fastest cards.
fn links(all: &[HealthLink]) -> Vec<HealthLink> {
    let mut kept: Vec<HealthLink> = all
        .iter()
        .filter(|link| link.speed_mbps < link.card_mbps)
        .map(|link| HealthLink {
            interface: name(&link.interface),
            speed_mbps: link.speed_mbps,
            card_mbps: link.card_mbps,
        })
        .collect();
    kept.sort_by(|a, b| {
        let key = |link: &HealthLink| (Reverse(link.card_mbps), link.speed_mbps);
        key(a).cmp(&key(b)).then_with(|| a.interface.cmp(&b.interface))
    });
    kept.truncate(MAX_LINKS);
    kept
}

fn name(text: &str) -> String {
    short(text, MAX_NAME)
}

/// At most so many bytes, also as JSON: without the characters that it escapes.
fn short(text: &str, limit: usize) -> String {
    one_line(text, limit).replace(['"', '\\'], "'")
}
