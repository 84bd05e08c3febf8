//! Handles steps about the machine, its health and its clock.

use muster_api::steps::{
    HealthDisk, HealthFan, HealthReport, HealthRequest, HealthTemperature, NtpSource, NtpSourceState,
    NtpSynchronizationRequest, NtpSynchronizationResponse,
};

use super::outcome::{Outcome, argument, settle};
use crate::machine::Machine;

/// `inventory`. The arguments are the host's id and bounds that only matter to machines with very many disks.
pub fn inventory(machine: Machine, _args: &[String]) -> Outcome {
    Outcome::good(&serde_json::to_value(machine.inventory()).expect("an inventory is JSON"))
}

/// `health` of a machine at rest: the same with each request, so that an agent sends it once an hour.
pub fn health(machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<HealthRequest>(args).map(|_| {
        let number = machine.number();
        // Some machines stand warmer than others.
        let warmth = (number % 8) as i16;
        let temperature = |sensor: &str, celsius, limit| HealthTemperature {
            sensor: sensor.to_owned(),
            celsius,
            limit: Some(limit),
        };
        let fan = |sensor: &str| HealthFan {
            sensor: sensor.to_owned(),
            rpm: 4800 + number % 8 * 60,
        };
        let report = HealthReport {
            booted_at: 1_795_000_000 + i64::from(number),
            load_percent: 1,
            memory_percent: 4,
            temperatures: vec![
                temperature("coretemp.0", 38 + warmth, 100),
                temperature("coretemp.1", 37 + warmth, 100),
                temperature("nvme0", 31 + warmth, 85),
            ],
            fans: vec![fan("nct6775 fan1"), fan("nct6775 fan2")],
            disks: vec![HealthDisk {
                name: "nvme0n1".to_owned(),
                wear_percent: Some(3),
                ..HealthDisk::default()
            }],
            ..HealthReport::default()
        };
        Outcome::good(&serde_json::to_value(report).expect("numbers and texts are JSON"))
    }))
}

/// `ntp-synchronizer`: the requested sources, or the system's own; the clock follows the first.
pub fn ntp(machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<NtpSynchronizationRequest>(args).map(|request| {
        let mut names: Vec<&str> = request
            .ntp_source
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        if names.is_empty() {
            names = vec![
                "time1.fleet.example",
                "time2.fleet.example",
                "time3.fleet.example",
            ];
        }
        let state = |nth: usize| match (machine.keeps_time(), nth) {
            (false, _) => NtpSourceState::Unreachable,
            (true, 0) => NtpSourceState::Synced,
            (true, _) => NtpSourceState::Combined,
        };
        let sources = names.iter().enumerate().map(|(nth, name)| NtpSource {
            source_name: (*name).to_owned(),
            source_state: Some(state(nth)),
        });
        let response = NtpSynchronizationResponse {
            ntp_sources: sources.collect(),
        };
        Outcome::good(&serde_json::to_value(response).expect("texts are JSON"))
    }))
}
