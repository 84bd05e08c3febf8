//! Handles steps about the machine and its clock.

use muster_api::steps::{NtpSource, NtpSourceState, NtpSynchronizationRequest, NtpSynchronizationResponse};

use super::outcome::{Outcome, argument, settle};
use crate::machine::Machine;

/// `inventory`. The arguments are the host's id and bounds that only matter to machines with very many disks.
pub fn inventory(machine: Machine, _args: &[String]) -> Outcome {
    Outcome::good(&serde_json::to_value(machine.inventory()).expect("an inventory is JSON"))
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
