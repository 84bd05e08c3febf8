//! Polls of hosts with nothing to do: how fast, and what they cost.

use std::time::{Duration, Instant};

use anyhow::Result;
use muster_api::ids::HostId;
use muster_api::{BASE_PATH, infra_env::InfraEnv};
use muster_tests::rest::RestError;
use muster_tests::service::{Service, Settings};
use serde_json::json;

use crate::table::{self, row};
use crate::usage::cpu_seconds;
use crate::wire::{Connection, median, percentile};

const HOSTS: usize = 50;
const CONNECTIONS: usize = 8;
const PACE_PER_SECOND: usize = 2000;
const TIME: Duration = Duration::from_secs(5);

/// The inventory that hosts report; any does.
const INVENTORY: &str = include_str!("../data/reference_machine/inventory-bios.json");

/// Measures at the budget's pace, and without a pace.
pub fn measure() -> Result<()> {
    let service = Settings::for_user_networks().start();
    let infra_env = service.client().create_infra_env("bench")?;
    let paths = (0..HOSTS)
        .map(|_| register(&service, &infra_env))
        .collect::<Result<Vec<String>>>()?;
    let mut rows = vec![row([
        "",
        "polls/s",
        "median, ms",
        "p99, ms",
        "CPU of one core, %",
        "CPU per poll, us",
        "budget",
    ])];
    for (name, pace, budget) in [
        ("2,000 polls/s", Some(PACE_PER_SECOND), "p99 under 5 ms"),
        ("no pace", None, ""),
    ] {
        let (cpu, start) = (cpu_seconds(service.id()), Instant::now());
        let times = poll(&service, &paths, pace)?;
        let (cpu, seconds) = (cpu_seconds(service.id()) - cpu, start.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "far fewer polls than 2^52")]
        let polls = times.len() as f64;
        let numbers = [
            polls / seconds,
            median(&times),
            percentile(&times, 99),
            100.0 * cpu / seconds,
            1e6 * cpu / polls,
        ];
        let cells = numbers.map(|number| format!("{number:.2}"));
        rows.push(
            [name.to_owned()]
                .into_iter()
                .chain(cells)
                .chain([budget.to_owned()])
                .collect(),
        );
    }
    table::print("GET instructions, nothing to do", &rows);
    Ok(())
}

/// Registers a host with an inventory; returns the path of its poll.
fn register(service: &Service, infra_env: &InfraEnv) -> Result<String> {
    let id = HostId::random();
    let hosts = format!("{BASE_PATH}/infra-envs/{}/hosts", infra_env.id);
    let path = format!("{hosts}/{id}/instructions");
    let reply = json!({"step_type": "inventory", "step_id": "inventory-0", "exit_code": 0, "output": INVENTORY, "error": ""});
    for (path, body) in [
        (&hosts, json!({"host_id": id, "discovery_agent_version": "bench"})),
        (&path, reply),
    ] {
        let (status, text) = service.client().request("POST", path, Some(&body))?;
        if !(200..300).contains(&status) {
            return Err(RestError::Status(status, text).into());
        }
    }
    Ok(path)
}

/// Polls over several connections; returns milliseconds each. With a pace, polls start when they are due, however slow
/// the previous one was, and a late start counts as waiting.
fn poll(service: &Service, paths: &[String], pace: Option<usize>) -> Result<Vec<f64>> {
    let interval = pace.map(|per_second| {
        Duration::from_secs(1) * u32::try_from(CONNECTIONS).unwrap_or(1)
            / u32::try_from(per_second).unwrap_or(1)
    });
    let one = |offset: usize| -> Result<Vec<f64>> {
        let mut connection = Connection::open(service.port())?;
        let (start, mut times) = (Instant::now(), Vec::new());
        while start.elapsed() < TIME {
            let mut due = Instant::now();
            if let Some(interval) = interval {
                due = start + interval * u32::try_from(times.len())?;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            connection.get(&paths[(offset + times.len()) % paths.len()])?;
            times.push(due.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times)
    };
    std::thread::scope(|scope| {
        let pollers: Vec<_> = (0..CONNECTIONS)
            .map(|offset| scope.spawn(move || one(offset)))
            .collect();
        let times = pollers
            .into_iter()
            .map(|poller| poller.join().expect("a poller does not panic"));
        Ok(times.collect::<Result<Vec<_>>>()?.concat())
    })
}
