//! Hosts of one cluster, with tokens required: the cost of unbound hosts without tokens is in `fleet`.

use std::time::{Duration, Instant};

use anyhow::Result;
use muster_tests::condition::await_every;
use muster_tests::service::Settings;

use crate::fleet::{World, await_quiet, poll, rate_of, register_all};
use crate::table;
use crate::usage::resident_mb;

/// Time in which the cluster becomes idle: each of its hosts has seen all others, and has reported which hosts it
/// reaches.
const SETTLING: Duration = Duration::from_secs(120);

/// Measured time. No host is disconnected before three minutes of silence.
const MEASURED: Duration = Duration::from_secs(60);

const ROWS: [(&str, &str); 9] = [
    ("registrations per second", ""),
    ("until all have an inventory, s", ""),
    (
        "each polls once a minute: % of a core",
        "twice that of unbound hosts",
    ),
    ("  p99 of a poll, ms", "5"),
    ("  database writes in that minute", "those of check-ins"),
    ("no requests: % of a core", "2"),
    ("memory, MB", "300 for 10,000 hosts"),
    ("all fall silent: CPU s until all are told so", ""),
    (
        "  from the first to the last of them, s",
        "60 and a few: as they polled",
    ),
];

/// Time limit until all hosts are disconnected after the pause.
const SILENCE_LIMIT: Duration = Duration::from_secs(900);

/// Measures a cluster of so many hosts on both databases.
pub fn measure(hosts: u32) -> Result<()> {
    // Each service ends before the next one begins: hosts that are not simulated any more become disconnected, which
    // costs time.
    let sqlite = column(&World::on_sqlite(Settings::auth_local), hosts)?;
    let postgres = column(&World::on_postgres(Settings::auth_local), hosts)?;
    let rate = match rate_of(hosts) {
        "0" => "all at once".to_owned(),
        rate => format!("{rate} a second"),
    };
    let title = format!("{hosts} hosts of one cluster, --auth local, booted {rate}");
    let heads = ["SQLite", "PostgreSQL (+ the database's)", "aim"];
    table::print_two(&title, heads, &ROWS, &[sqlite, postgres]);
    Ok(())
}

fn column(world: &World, hosts: u32) -> Result<Vec<String>> {
    let begun = register_all(world, hosts, &["--cluster"])?;
    let seconds = format!("{}s", (SETTLING + MEASURED).as_secs() + 2);
    let (polled, (writes, polling)) = std::thread::scope(|scope| {
        let polling = scope.spawn(|| poll(world, hosts, begun.infra_env_id(), ["60s", &seconds], &[]));
        std::thread::sleep(SETTLING);
        let before = writes(world);
        let ((), cost) = world.cost(|| std::thread::sleep(MEASURED));
        let measured = (writes(world) - before, cost);
        (polling.join().expect("the fleet runs to its end"), measured)
    });
    let ((), rest) = world.cost(|| std::thread::sleep(MEASURED));
    let memory = resident_mb(world.service.id());
    let (told, silence) = world.cost(|| await_silence(world, hosts));
    let told = told?;
    Ok(vec![
        format!("{:.0}", begun.number("/registrations/per_second")),
        format!("{:.1}", begun.number("/inventories/seconds_until_all")),
        world.percent(polling, MEASURED),
        format!("{:.2}", polled.latency("poll", "p99_ms")),
        format!("{writes:.0}"),
        world.percent(rest, MEASURED),
        format!("{memory:.0}"),
        world.each(silence, 1.0, 1),
        format!("{:.0}", told.as_secs_f64()),
    ])
}

/// Waits until all hosts are disconnected, and the service is quiet again. Returns the time from the first to the last
/// of them.
fn await_silence(world: &World, hosts: u32) -> Result<Duration> {
    let mut first = None;
    let what = "all hosts to be called disconnected";
    let told = await_every(Duration::from_secs(1), what, SILENCE_LIMIT, || {
        let silent = metric(world, "muster_hosts{status=\"disconnected\"}");
        if silent > 0.0 {
            first.get_or_insert_with(Instant::now);
        }
        match first {
            Some(first) if silent >= f64::from(hosts) => Ok(first.elapsed()),
            _ => Err(format!("{silent} of {hosts} are")),
        }
    });
    await_quiet(world)?;
    Ok(told)
}

/// Write transactions since the start of the service.
fn writes(world: &World) -> f64 {
    metric(world, "muster_database_writes_total")
}

/// A number of `/metrics`, by its name with its labels; NaN if it is missing.
fn metric(world: &World, name: &str) -> f64 {
    let answer = world.service.client().request("GET", "/metrics", None);
    let text = answer.map(|(_, text)| text).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        .unwrap_or(f64::NAN)
}
