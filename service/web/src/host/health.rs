//! The health of a host: last and worst values, and a line of the temperatures of a day.

use std::fmt::Write as _;

use muster_api::host::{HostHealth, HostHealthHour};
use muster_api::steps::{HealthDisk, HealthDiskFault, HealthReport};
use muster_api::time::Timestamp;

use crate::words;

/// Hours that the line shows.
const HOURS: i64 = 24;
/// Units of the drawing for one hour, and its height.
const HOUR_WIDTH: i64 = 10;
const HEIGHT: i64 = 40;
/// Room above and below the line.
const MARGIN: i64 = 3;

pub struct HealthView {
    /// Last report, and how long ago.
    pub at: String,
    pub when: String,
    pub rows: Vec<HealthRow>,
    /// `None`: no sensor was reported.
    pub line: Option<Line>,
}

/// A value.
pub struct HealthRow {
    pub name: String,
    pub last: String,
    /// Worst value of the day; empty: none is kept.
    pub worst: String,
    pub is_bad: bool,
}

/// The temperatures of a day as a line.
pub struct Line {
    /// Points of the line, as SVG has them.
    pub points: String,
    pub width: i64,
    pub height: i64,
    /// In words.
    pub text: String,
    /// Hour by hour, the latest first: begin, how long ago, temperature, load.
    pub hours: Vec<HourRow>,
}

pub struct HourRow {
    pub at: String,
    pub when: String,
    pub celsius: String,
    pub load: String,
}

impl HealthView {
    pub fn of(health: &HostHealth, now: &str) -> Self {
        Self {
            at: health.reported_at.clone(),
            when: words::relative(&health.reported_at, now),
            rows: rows(health, now),
            line: line(&health.hours, now),
        }
    }
}

fn row(name: &str, last: String, worst: String) -> HealthRow {
    HealthRow {
        name: name.to_owned(),
        last,
        worst,
        is_bad: false,
    }
}

fn rows(health: &HostHealth, now: &str) -> Vec<HealthRow> {
    let (last, worst) = (&health.last, &health.worst);
    let on = |value: String| format!("{value} on {}", worst.day);
    let mut rows = Vec::new();
    if let Some(celsius) = last.temperatures.iter().map(|one| one.celsius).max() {
        let worst = worst.celsius.map(|celsius| on(degrees(celsius)));
        rows.push(row("Hottest sensor", degrees(celsius), worst.unwrap_or_default()));
    }
    rows.push(row(
        "Load",
        format!("{} %", last.load_percent),
        on(format!("{} %", worst.load_percent)),
    ));
    rows.push(row(
        "Memory in use",
        format!("{} %", last.memory_percent),
        on(format!("{} %", worst.memory_percent)),
    ));
    rows.extend(booted(last, now));
    if !last.bios_version.is_empty() {
        rows.push(row("Firmware", last.bios_version.clone(), String::new()));
    }
    rows.extend(sensors(last));
    rows
}

fn degrees(celsius: i16) -> String {
    format!("{celsius} °C")
}

fn booted(last: &HealthReport, now: &str) -> Option<HealthRow> {
    let at = Timestamp::from_timestamp(last.booted_at, 0).filter(|_| last.booted_at > 0)?;
    let at = muster_api::time::millis(Some(at));
    Some(row("Booted", words::relative(&at, now), String::new()))
}

/// The report of each sensor, disk and link.
fn sensors(last: &HealthReport) -> Vec<HealthRow> {
    let temperatures = last.temperatures.iter().map(|one| HealthRow {
        is_bad: one.limit.is_some_and(|limit| one.celsius >= limit),
        ..row(
            &one.sensor,
            match one.limit {
                Some(limit) => format!("{}, limit {}", degrees(one.celsius), degrees(limit)),
                None => degrees(one.celsius),
            },
            String::new(),
        )
    });
    let fans = last
        .fans
        .iter()
        .map(|fan| row(&fan.sensor, format!("{} rpm", fan.rpm), String::new()));
    let disks = last.disks.iter().map(|disk| HealthRow {
        is_bad: !disk.faults.is_empty(),
        ..row(&disk.name, condition(disk), String::new())
    });
    let links = last.slow_links.iter().map(|link| HealthRow {
        is_bad: true,
        ..row(
            &link.interface,
            format!(
                "{}, the card can do {}",
                words::speed(link.speed_mbps.into()),
                words::speed(link.card_mbps.into())
            ),
            String::new(),
        )
    });
    let memory = (last.memory_corrected > 0 || last.memory_uncorrected > 0).then(|| HealthRow {
        is_bad: last.memory_uncorrected > 0,
        ..row(
            "Errors of memory",
            format!(
                "{} corrected, {} not corrected",
                last.memory_corrected, last.memory_uncorrected
            ),
            String::new(),
        )
    });
    temperatures
        .chain(fans)
        .chain(disks)
        .chain(links)
        .chain(memory)
        .collect()
}

fn condition(disk: &HealthDisk) -> String {
    let mut parts: Vec<String> = disk
        .faults
        .iter()
        .map(|fault| {
            let text = match fault {
                HealthDiskFault::FailurePredicted => "predicts its failure",
                HealthDiskFault::SpareLow => "little spare space",
                HealthDiskFault::Unreliable => "unreliable",
                HealthDiskFault::ReadOnly => "takes no writes",
                HealthDiskFault::BackupFailed => "backup of its cache failed",
                HealthDiskFault::Other => "has a fault",
            };
            text.to_owned()
        })
        .collect();
    if parts.is_empty() {
        parts.push("no fault".to_owned());
    }
    parts.extend(disk.wear_percent.map(|worn| format!("{worn} % worn")));
    if disk.media_errors > 0 {
        parts.push(format!("{} errors of media", disk.media_errors));
    }
    parts.join(", ")
}

/// The temperatures of the last day as steps: each stands until the next report.
fn line(hours: &[HostHealthHour], now: &str) -> Option<Line> {
    let present = now.parse::<Timestamp>().ok()?.timestamp().div_euclid(3600);
    let mut known: Vec<(i64, i64)> = hours
        .iter()
        .filter_map(|hour| {
            let at = hour.at.parse::<Timestamp>().ok()?.timestamp().div_euclid(3600);
            let back = (present - at).clamp(0, HOURS - 1);
            Some((HOURS - 1 - back, i64::from(hour.celsius?)))
        })
        .collect();
    known.sort_by_key(|(place, _)| *place);
    let least = known.iter().map(|(_, celsius)| *celsius).min()?;
    let most = known.iter().map(|(_, celsius)| *celsius).max()?;
    let span = (most - least).max(1);
    let y = |celsius: i64| MARGIN + (most - celsius) * (HEIGHT - 2 * MARGIN) / span;
    let mut points = String::new();
    for (index, (place, celsius)) in known.iter().enumerate() {
        let end = known.get(index + 1).map_or(HOURS, |(next, _)| *next);
        let (begin, y) = (place * HOUR_WIDTH, y(*celsius));
        // Writing to a text cannot fail.
        let _ = write!(points, "{begin},{y} {},{y} ", end * HOUR_WIDTH);
    }
    Some(Line {
        points: points.trim_end().to_owned(),
        width: HOURS * HOUR_WIDTH,
        height: HEIGHT,
        text: format!("Hottest sensor in the last {HOURS} hours: {least} to {most} °C"),
        hours: hours.iter().rev().map(|hour| hour_row(hour, now)).collect(),
    })
}

fn hour_row(hour: &HostHealthHour, now: &str) -> HourRow {
    HourRow {
        at: hour.at.clone(),
        when: words::relative(&hour.at, now),
        celsius: hour.celsius.map(degrees).unwrap_or_default(),
        load: format!("{} %", hour.load_percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(at: &str, celsius: Option<i16>) -> HostHealthHour {
        HostHealthHour {
            at: at.to_owned(),
            celsius,
            load_percent: 7,
        }
    }

    #[test]
    fn a_temperature_stands_until_the_next_report() {
        let hours = [
            hour("2026-12-01T10:00:00.000Z", Some(40)),
            hour("2026-12-01T20:00:00.000Z", None),
            hour("2026-12-01T22:00:00.000Z", Some(57)),
        ];
        let line = line(&hours, "2026-12-01T23:30:00Z").unwrap();
        // 13 hours ago is place 10 of 24, an hour ago is place 22.
        assert_eq!(line.points, "100,37 220,37 220,3 240,3");
        assert_eq!(line.text, "Hottest sensor in the last 24 hours: 40 to 57 °C");
        let rows: Vec<(&str, &str)> = line
            .hours
            .iter()
            .map(|row| (row.celsius.as_str(), row.load.as_str()))
            .collect();
        assert_eq!(rows, [("57 °C", "7 %"), ("", "7 %"), ("40 °C", "7 %")]);
    }

    #[test]
    fn without_temperatures_there_is_no_line() {
        let now = "2026-12-01T23:30:00Z";
        assert!(line(&[], now).is_none());
        assert!(line(&[hour("2026-12-01T10:00:00.000Z", None)], now).is_none());
        assert!(line(&[hour("2026-12-01T10:00:00.000Z", Some(3))], "never").is_none());
    }
}
