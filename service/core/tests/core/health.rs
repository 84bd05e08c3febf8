//! The health of hosts: what is kept of reports, what is found, and that an equal report changes nothing.

use chrono::Duration;
use muster_api::steps::{
    HealthDisk, HealthDiskFault, HealthFan, HealthLink, HealthReport, HealthTemperature, StepType,
};
use muster_api::time::Timestamp;
use muster_core::lifecycle::host::HostEvent;
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::record::{Health, Host};
use muster_core::rules::findings::{DISK_FAILING, LINK_SLOW, MEMORY_ERRORS, OF_HEALTH, OVERHEATING};
use muster_core::rules::health::noted;

use crate::world::{World, reply, said, start};

fn at(hours: i64) -> Timestamp {
    start() + Duration::hours(hours)
}

fn sensor(name: &str, celsius: i16, limit: Option<i16>) -> HealthTemperature {
    HealthTemperature {
        sensor: name.into(),
        celsius,
        limit,
    }
}

fn warm(celsius: i16) -> HealthReport {
    HealthReport {
        booted_at: 1_763_700_000,
        load_percent: 10,
        memory_percent: 20,
        temperatures: vec![sensor("nvme0", celsius, Some(81))],
        ..HealthReport::default()
    }
}

/// What is kept after reports at these hours.
fn after(reports: &[(i64, HealthReport)]) -> Health {
    let mut health = None;
    for (hours, report) in reports {
        health = noted(health.as_ref(), report, at(*hours)).or(health);
    }
    health.expect("the first report is kept")
}

#[test]
fn an_equal_report_changes_nothing_whatever_its_order() {
    let mut report = warm(40);
    report.temperatures.push(sensor("coretemp.0", 50, None));
    let health = noted(None, &report, at(0)).unwrap();
    report.temperatures.reverse();
    assert_eq!(noted(Some(&health), &report, at(1)), None);
    assert!(noted(Some(&health), &warm(41), at(1)).is_some());
}

#[test]
fn the_worst_of_a_day_and_the_highest_of_each_hour_are_kept() {
    // The tests begin at 14:00 UTC.
    let health = after(&[(0, warm(40)), (2, warm(70)), (2, warm(50)), (5, warm(45))]);
    assert_eq!(health.at, at(5));
    assert_eq!(health.worst.celsius, Some(70));
    let first = at(0).timestamp() / 3600;
    let hours: Vec<(i64, Option<i16>)> = health
        .hours
        .iter()
        .map(|hour| (hour.hour - first, hour.celsius))
        .collect();
    // Until 19:00 the value of 16:00 stood.
    assert_eq!(hours, [(0, Some(40)), (2, Some(70)), (5, Some(50))]);
}

#[test]
fn a_day_begins_with_the_value_that_stood() {
    let health = after(&[(0, warm(80)), (1, warm(60)), (20, warm(40))]);
    assert_eq!(health.worst.day, at(20).timestamp() / 86_400);
    assert_eq!(health.worst.celsius, Some(60));
    let mut rebooted = warm(30);
    rebooted.booted_at += 7200;
    let health = after(&[(0, warm(80)), (20, rebooted)]);
    assert_eq!(health.worst.celsius, Some(30), "another boot has other values");
}

#[test]
fn only_the_last_day_is_kept() {
    let reports: Vec<(i64, HealthReport)> = (0..60)
        .map(|hour| (hour, warm(30 + (hour % 40) as i16)))
        .collect();
    let health = after(&reports);
    assert_eq!(health.hours.len(), 24);
    assert_eq!(health.hours[23].hour, at(59).timestamp() / 3600);
}

/// The largest report that an agent of bad will could send; JSON has two bytes for each of its characters.
fn huge() -> HealthReport {
    let long = "\"\\".repeat(500);
    HealthReport {
        booted_at: i64::MIN,
        bios_version: long.clone(),
        load_percent: u32::MAX,
        memory_percent: u8::MAX,
        temperatures: vec![sensor(&long, 100, Some(100)); 4000],
        fans: vec![
            HealthFan {
                sensor: long.clone(),
                rpm: u32::MAX,
            };
            4000
        ],
        disks: vec![
            HealthDisk {
                name: long.clone(),
                faults: vec![HealthDiskFault::Unreliable, HealthDiskFault::SpareLow]
                    .into_iter()
                    .cycle()
                    .take(4000)
                    .collect(),
                wear_percent: Some(255),
                media_errors: u64::MAX,
            };
            2000
        ],
        memory_corrected: u64::MAX,
        memory_uncorrected: u64::MAX,
        slow_links: vec![
            HealthLink {
                interface: long,
                speed_mbps: u32::MAX - 1,
                card_mbps: u32::MAX,
            };
            4000
        ],
    }
}

#[test]
fn a_report_of_any_size_is_kept_in_three_kilobytes() {
    let mut reports: Vec<(i64, HealthReport)> = (0..40).map(|hour| (hour, huge())).collect();
    for (number, (_, report)) in reports.iter_mut().enumerate() {
        report.load_percent -= number as u32;
    }
    let text = serde_json::to_string(&after(&reports)).unwrap();
    assert!(text.len() < 3000, "{} bytes: {text}", text.len());
    let read: Health = serde_json::from_str(&text).unwrap();
    assert_eq!(read, after(&reports));
}

#[test]
fn what_matters_most_of_a_list_is_kept() {
    let mut report = HealthReport::default();
    for number in 0..20 {
        report
            .temperatures
            .push(sensor(&format!("t{number}"), 40 + number, None));
        report.disks.push(HealthDisk {
            name: format!("sd{number}"),
            wear_percent: Some(number as u8),
            ..HealthDisk::default()
        });
    }
    report.temperatures.push(sensor("hot", 30, Some(30)));
    report.temperatures.push(sensor("no sensor", 3000, Some(30)));
    report.disks.push(HealthDisk {
        name: "sick".into(),
        faults: vec![HealthDiskFault::ReadOnly],
        ..HealthDisk::default()
    });
    report.slow_links.push(HealthLink {
        interface: "eth0".into(),
        speed_mbps: 1000,
        card_mbps: 1000,
    });
    let last = noted(None, &report, at(0)).unwrap().last;
    let names: Vec<&str> = last.temperatures.iter().map(|one| one.sensor.as_str()).collect();
    assert_eq!(names, ["hot", "t19", "t18", "t17", "t16", "t15"]);
    let names: Vec<&str> = last.disks.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["sick", "sd19", "sd18", "sd17", "sd16", "sd15"]);
    assert_eq!(last.slow_links, [], "it is as fast as its card");
}

/// Kinds and subjects of the findings about health.
fn found(host: &Host) -> Vec<(&str, &str)> {
    let findings = host.data.findings.iter();
    findings
        .filter(|finding| OF_HEALTH.contains(&finding.kind.as_str()))
        .map(|finding| (finding.kind.as_str(), finding.about.as_str()))
        .collect()
}

fn sick() -> HealthReport {
    HealthReport {
        temperatures: vec![
            sensor("coretemp.0", 100, Some(100)),
            sensor("nvme0", 80, Some(81)),
        ],
        disks: vec![HealthDisk {
            name: "sdb".into(),
            faults: vec![HealthDiskFault::FailurePredicted],
            ..HealthDisk::default()
        }],
        memory_corrected: 100,
        slow_links: vec![HealthLink {
            interface: "eth1".into(),
            speed_mbps: 1000,
            card_mbps: 25_000,
        }],
        ..HealthReport::default()
    }
}

#[test]
fn sick_hardware_is_found_and_keeps_a_host_from_nothing() {
    let mut world = World::new();
    let host = world.known_host();
    let step = world.step(&host, &HostEvent::HealthReported(sick())).unwrap();
    assert_eq!(
        found(&step.host),
        [
            (DISK_FAILING, "sdb"),
            (LINK_SLOW, "eth1"),
            (MEMORY_ERRORS, "memory"),
            (OVERHEATING, "coretemp.0"),
        ]
    );
    assert_eq!(step.host.state, host.state);
    let appeared = step.events.iter();
    let appeared = appeared.filter(|event| event.name == "muster_finding_appeared");
    assert_eq!(appeared.count(), 4);
    // The same again is nothing to write; a healthy report ends them all.
    let again = world
        .step(&step.host, &HostEvent::HealthReported(sick()))
        .unwrap();
    assert!(!again.changed && again.events.is_empty());
    let well = world.after(&step.host, &HostEvent::HealthReported(HealthReport::default()));
    assert_eq!(found(&well), []);
}

#[test]
fn a_few_corrected_errors_are_usual_and_one_that_was_not_is_not() {
    let mut world = World::new();
    let host = world.known_host();
    let kinds = |corrected, uncorrected| {
        let report = HealthReport {
            memory_corrected: corrected,
            memory_uncorrected: uncorrected,
            ..HealthReport::default()
        };
        found(&world.after(&host, &HostEvent::HealthReported(report))).len()
    };
    assert_eq!((kinds(99, 0), kinds(100, 0), kinds(0, 1)), (0, 1, 1));
}

#[test]
fn our_agents_are_asked_for_it_where_they_report_their_inventory_and_others_never() {
    let mut world = World::new();
    let host = world.known_host();
    let asked = |world: &World, host: &Host| {
        let steps = world.steps(host).instructions.unwrap_or_default();
        steps
            .into_iter()
            .find(|step| step.step_type == StepType::Health.name())
    };
    let step = asked(&world, &host).unwrap();
    assert_eq!(step.args, [r#"{"interval_seconds":60}"#]);
    let mut foreign = host.clone();
    foreign.data.discovery_agent_version = "quay.io/other/agent:1".into();
    assert_eq!(asked(&world, &foreign), None);
    let installing = world.known_host_of_cluster();
    let installing = world.after(&installing, &HostEvent::InstallRequested);
    assert_eq!(asked(&world, &installing), None);
}

#[test]
fn replies_are_reports_also_with_faults_of_later_agents() {
    let output = r#"{"disks":[{"name":"sda","faults":["haunted","read-only"]}],"phase_of_moon":3}"#;
    let events = said(StepType::Health, output);
    let [HostEvent::HealthReported(report)] = events.as_slice() else {
        panic!("{output}");
    };
    assert_eq!(
        report.disks[0].faults,
        [HealthDiskFault::Other, HealthDiskFault::ReadOnly]
    );
    let failed = interpret(&reply(StepType::Health, -1, ""), &Limits::default());
    assert_eq!(failed, Ok(Vec::new()));
}
