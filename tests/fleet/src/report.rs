//! The summary, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use muster_api::ids::InfraEnvId;
use serde::Serialize;
use tokio::time::Instant;

use crate::agent::World;
use crate::faults::{Fault, Part};
use crate::fleet::faulty;
use crate::measure::{Counts, Ending, Operation, Timed};

/// All results of a run. Rates are per second, latencies milliseconds.
#[derive(Debug, Serialize)]
pub struct Report {
    url: String,
    infra_env_id: InfraEnvId,
    seed: u64,
    hosts: u32,
    seconds: f64,
    registrations: Registrations,
    inventories: Inventories,
    polls: Polls,
    operations: Vec<OperationReport>,
    errors: u64,
    agents: BTreeMap<&'static str, u64>,
    /// As the service shows them; absent if the request failed.
    host_states: Option<BTreeMap<String, u64>>,
    /// Reason of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_states_problem: Option<String>,
    faults: Vec<FaultReport>,
}

#[derive(Debug, Serialize)]
struct Registrations {
    count: u64,
    seconds: f64,
    per_second: f64,
}

#[derive(Debug, Serialize)]
struct Inventories {
    expected: u64,
    taken: u64,
    /// From the start to the last expected one; absent if some are missing.
    seconds_until_all: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Polls {
    count: u64,
    seconds: f64,
    per_second: f64,
}

#[derive(Debug, Serialize)]
struct OperationReport {
    operation: &'static str,
    count: u64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    endings: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
struct FaultReport {
    fault: Fault,
    hosts: usize,
    met: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Report {
    /// The report of a run that ended then; `states` is the service's view of its hosts.
    pub fn new(
        world: &World,
        parts: &[Part],
        expected: u64,
        ended: Instant,
        states: Result<BTreeMap<String, u64>>,
    ) -> Self {
        let measure = &world.measure;
        let options = &world.options;
        let (host_states, host_states_problem) = match states {
            Ok(states) => (Some(states), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        measure.counts(|counts| Self {
            url: options.url.to_string(),
            infra_env_id: world.infra_env,
            seed: options.seed,
            hosts: options.hosts,
            seconds: (ended - measure.started).as_secs_f64(),
            registrations: registrations(counts),
            inventories: Inventories {
                expected,
                taken: counts.with_inventory,
                seconds_until_all: counts
                    .last_inventory
                    .filter(|_| counts.with_inventory >= expected && !options.resume)
                    .map(|last| (last - measure.started).as_secs_f64()),
            },
            polls: polls(counts),
            operations: counts
                .operations
                .iter()
                .map(|(operation, timed)| operation_report(*operation, timed))
                .collect(),
            errors: counts.operations.values().map(errors).sum(),
            agents: measure
                .phases()
                .into_iter()
                .map(|(phase, count)| (phase.name(), count))
                .collect(),
            host_states,
            host_states_problem,
            faults: faulty(parts)
                .map(|(fault, hosts)| fault_report(fault, hosts, counts))
                .collect(),
        })
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far fewer requests than 2^52")]
    let count = count as f64;
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

fn registrations(counts: &Counts) -> Registrations {
    let seconds = counts.registering.map_or(0.0, |span| span.seconds());
    Registrations {
        count: counts.registered,
        seconds,
        per_second: per_second(counts.registered, seconds),
    }
}

fn polls(counts: &Counts) -> Polls {
    let seconds = counts.polling.map_or(0.0, |span| span.seconds());
    let count = counts.operations.get(&Operation::Poll).map_or(0, Timed::count);
    Polls {
        count,
        seconds,
        per_second: per_second(count, seconds),
    }
}

fn named(endings: &BTreeMap<Ending, u64>) -> BTreeMap<String, u64> {
    endings
        .iter()
        .map(|(ending, count)| (ending.to_string(), *count))
        .collect()
}

fn errors(timed: &Timed) -> u64 {
    timed
        .endings
        .iter()
        .filter(|(ending, _)| !ending.is_good())
        .map(|(_, count)| count)
        .sum()
}

fn operation_report(operation: Operation, timed: &Timed) -> OperationReport {
    #[expect(clippy::cast_precision_loss, reason = "a minute has few microseconds")]
    let milliseconds = |micros: u64| micros as f64 / 1000.0;
    OperationReport {
        operation: operation.name(),
        count: timed.count(),
        p50_ms: milliseconds(timed.micros.value_at_quantile(0.5)),
        p99_ms: milliseconds(timed.micros.value_at_quantile(0.99)),
        max_ms: milliseconds(timed.micros.max()),
        endings: named(&timed.endings),
    }
}

fn fault_report(fault: Fault, hosts: usize, counts: &Counts) -> FaultReport {
    let of_fault = counts.met.iter().filter(|((of, _), _)| *of == fault);
    FaultReport {
        fault,
        hosts,
        met: of_fault
            .map(|((_, what), endings)| (what.clone(), named(endings)))
            .collect(),
    }
}

fn list<K: fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    let parts: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    if parts.is_empty() {
        "none".into()
    } else {
        parts.join(", ")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            registrations,
            inventories,
            polls,
            ..
        } = self;
        writeln!(
            f,
            "{} hosts, seed {}, InfraEnv {} of {}, {:.1} s",
            self.hosts, self.seed, self.infra_env_id, self.url, self.seconds
        )?;
        if registrations.count > 0 {
            writeln!(
                f,
                "registered    {} in {:.1} s: {:.0} per second",
                registrations.count, registrations.seconds, registrations.per_second
            )?;
        }
        let when = match inventories.seconds_until_all {
            Some(seconds) => format!("all after {seconds:.1} s"),
            None => format!("of {} expected", inventories.expected),
        };
        writeln!(f, "inventories   {} taken, {when}", inventories.taken)?;
        writeln!(
            f,
            "polls         {} in {:.1} s: {:.0} per second",
            polls.count, polls.seconds, polls.per_second
        )?;
        writeln!(
            f,
            "\n  {:<10} {:>9} {:>9} {:>9} {:>9}  answers",
            "", "count", "p50 ms", "p99 ms", "max ms"
        )?;
        for OperationReport {
            operation,
            count,
            p50_ms,
            p99_ms,
            max_ms,
            endings,
        } in &self.operations
        {
            let endings = list(endings);
            writeln!(
                f,
                "  {operation:<10} {count:>9} {p50_ms:>9.2} {p99_ms:>9.2} {max_ms:>9.2}  {endings}"
            )?;
        }
        writeln!(f, "\nagents        {}", list(&self.agents))?;
        match (&self.host_states, &self.host_states_problem) {
            (Some(states), _) => writeln!(f, "host states   {}", list(states))?,
            (None, problem) => writeln!(
                f,
                "host states   unknown: {}",
                problem.as_deref().unwrap_or_default()
            )?,
        }
        for FaultReport { fault, hosts, met } in &self.faults {
            writeln!(f, "\n{fault} ({hosts} hosts)")?;
            for (what, endings) in met {
                writeln!(f, "  {what:<46}  {}", list(endings))?;
            }
            if met.is_empty() {
                writeln!(f, "  did what it does; the host states show it")?;
            }
        }
        Ok(())
    }
}
