//! Runs `muster-fleet` on a service: many agents, some of which misbehave.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::artifacts::fleet_program;
use crate::process::{Program, command, run};
use crate::service::Service;

/// Report of a run (`muster-fleet --json`).
#[derive(Debug)]
pub struct Run(Value);

/// Runs a fleet to its end. `arguments` are added to `--url` and `--json`; they must make it end.
///
/// # Panics
/// If it cannot begin.
#[track_caller]
pub fn fleet(service: &Service, arguments: &[&str]) -> Run {
    let client = service.client();
    let mut program = program(client.base(), client.token());
    if let Some(authorities) = service.authorities() {
        program.arg("--ca-cert").arg(authorities);
    }
    Run::read(&run(program.args(arguments)))
}

/// The command for a service at that URL.
fn program(url: &str, token: Option<&str>) -> Command {
    let mut program = command(fleet_program());
    // Settings of the surrounding shell are not the test's.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MUSTER_")) {
        program.env_remove(name);
    }
    if let Some(token) = token {
        program.env("MUSTER_TOKEN", token);
    }
    program.args(["--json", "--url", url]);
    program
}

/// A fleet that runs in parallel to the test. Dropping it ends it.
pub struct Fleet(Program);

impl Fleet {
    /// Starts a fleet for the service at that URL, with the operator's token; `arguments` are added to `--url` and
    /// `--json`.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn start(url: &str, token: Option<&str>, arguments: &[&str], log: &Path) -> Self {
        let mut program = program(url, token);
        Self(Program::start("muster-fleet", program.args(arguments), log))
    }

    /// Ends the fleet; returns its report.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn end(self) -> Run {
        self.0.signal(Signal::SIGINT);
        self.await_end()
    }

    /// Waits until the fleet has ended by itself; returns its report.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn await_end(mut self) -> Run {
        let status = self.0.await_exit(Duration::from_secs(120));
        assert!(status.success(), "muster-fleet: {status}");
        let printed = self.0.transcript().text();
        Run::read(printed.find('{').map_or("", |at| &printed[at..]))
    }
}

impl Run {
    #[track_caller]
    fn read(report: &str) -> Self {
        let read = serde_json::from_str(report);
        Self(read.unwrap_or_else(|error| panic!("muster-fleet prints no JSON: {error} in {report}")))
    }

    /// A number of the report, by its place (`/polls/per_second`); 0 if it is missing, as counts that are zero are.
    pub fn number(&self, place: &str) -> f64 {
        self.0.pointer(place).and_then(Value::as_f64).unwrap_or(0.0)
    }

    /// A count, found by its path in the report.
    pub fn count(&self, place: &str) -> u64 {
        self.0.pointer(place).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The InfraEnv that the hosts are in.
    pub fn infra_env_id(&self) -> &str {
        self.0["infra_env_id"].as_str().unwrap_or_default()
    }

    /// A latency of an operation (`p50_ms`, `p99_ms`, `max_ms`), milliseconds.
    pub fn latency(&self, operation: &str, which: &str) -> f64 {
        let operations = self.0["operations"].as_array().into_iter().flatten();
        let found = operations
            .into_iter()
            .find(|entry| entry["operation"] == operation);
        found.and_then(|entry| entry[which].as_f64()).unwrap_or(f64::NAN)
    }

    /// Outcomes of requests of agents without a fault: operation, ending (a status, or the reason for none),
    /// count.
    pub fn endings(&self) -> Vec<(String, String, u64)> {
        let operations = self.0["operations"].as_array().into_iter().flatten();
        operations
            .flat_map(|entry| {
                let operation = entry["operation"].as_str().unwrap_or_default();
                counts(&entry["endings"]).map(move |(ending, count)| (operation.to_owned(), ending, count))
            })
            .collect()
    }

    /// Outcomes of a fault: attempt, ending, count.
    pub fn met(&self, fault: &str) -> Vec<(String, String, u64)> {
        let faults = self.0["faults"].as_array().into_iter().flatten();
        faults
            .filter(|entry| entry["fault"] == fault)
            .filter_map(|entry| entry["met"].as_object())
            .flatten()
            .flat_map(|(what, endings)| {
                counts(endings).map(move |(ending, count)| (what.clone(), ending, count))
            })
            .collect()
    }

    /// The whole report, for messages.
    pub fn text(&self) -> String {
        format!("{:#}", self.0)
    }
}

fn counts(of: &Value) -> impl Iterator<Item = (String, u64)> {
    let entries = of.as_object().into_iter().flatten();
    entries.map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0)))
}
