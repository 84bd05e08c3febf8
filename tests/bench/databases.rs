//! PostgreSQL with 16 and with 64 connections, here and a millisecond away.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::distance::way_to;
use crate::fleet::{HOSTS, World, await_quiet, polls_at_pace, register_all};
use crate::table::{self, row};

/// Time to the database and back.
const ROUND_TRIP: Duration = Duration::from_millis(1);

const ROWS: [&str; 6] = [
    "registrations per second, all at once",
    "until all have an inventory, s",
    "with their Agents, CPU s per 1,000 hosts",
    "2,000 polls per second: median, ms",
    "  p99, ms",
    "  CPU s per 1,000 polls",
];

/// Measures 3,000 hosts in each configuration.
pub fn measure() -> Result<()> {
    let mut columns = Vec::new();
    for is_away in [false, true] {
        for connections in ["16", "64"] {
            columns.push(column(connections, is_away)?);
        }
    }
    let mut rows = vec![row(["connections", "16", "64", "16, 1 ms away", "64, 1 ms away"])];
    for (index, name) in ROWS.into_iter().enumerate() {
        let mut cells = row([name]);
        cells.extend(columns.iter().map(|column| column[index].clone()));
        rows.push(cells);
    }
    table::print(&format!("{HOSTS} hosts, PostgreSQL (service + database)"), &rows);
    Ok(())
}

fn column(connections: &str, is_away: bool) -> Result<[String; 6]> {
    let world = World::on_postgres_by(
        |url| {
            if !is_away {
                return Ok(url.to_owned());
            }
            let (_, rest) = url.rsplit_once(':').context("a URL with a port")?;
            let (port, database) = rest.split_once('/').context("a URL with a database")?;
            let way = way_to(port.parse()?, ROUND_TRIP / 2)?;
            Ok(format!("postgres://postgres@127.0.0.1:{way}/{database}"))
        },
        |settings| settings.argument(&format!("--database-connections={connections}")),
    )?;
    let (begun, begin) = world.cost(|| register_all(&world, HOSTS, &[]));
    let begun = begun?;
    let (quiet, mirror) = world.cost(|| await_quiet(&world));
    quiet?;
    let (paced, polling) = world.cost(|| polls_at_pace(&world, begun.infra_env_id()));
    let (thousand_hosts, thousand_polls) = (f64::from(HOSTS) / 1e3, paced.number("/polls/count") / 1e3);
    Ok([
        format!("{:.0}", begun.number("/registrations/per_second")),
        format!("{:.1}", begun.number("/inventories/seconds_until_all")),
        world.each(begin + mirror, thousand_hosts, 2),
        format!("{:.2}", paced.latency("poll", "p50_ms")),
        format!("{:.2}", paced.latency("poll", "p99_ms")),
        world.each(polling, thousand_polls, 3),
    ])
}
