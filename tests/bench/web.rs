//! The page with 10,000 hosts, in a browser and by clients that do as browsers do: how soon it shows, and what it costs.

mod browser;
mod players;
mod program;

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use muster_tests::hosts::fleet::{Fleet, Run, fleet};
use muster_tests::http::{Answer, HttpClient};
use muster_tests::service::Settings;

use crate::fleet::{MANY_HOSTS, World, await_quiet, register_all};
use crate::table::{self, row};
use crate::usage::resident_mb;
use crate::wire::percentile;
use players::{Players, streams};

/// REST's search, with one host in the answer.
const SEARCH: &str = "/api/muster/v1/hosts?limit=1";

/// Requests of one page of which a percentile is taken.
const REQUESTS: usize = 200;

/// One token has at most 16 streams.
const TOKENS: usize = 16;

/// Streams that rest while their memory is measured.
const RESTING: usize = 200;

/// Browsers with the page open, and the time.
const BROWSERS: usize = 100;
const OPEN: Duration = Duration::from_secs(180);

/// Pages that are open while hosts register, and these hosts: 400 a second for fifteen seconds.
const PAGES: usize = 20;
const REGISTERING: &str = "6000";
const PER_SECOND: &str = "400";

/// Time in which what was just done ends: Agents are made, freed memory is given back, streams of ended clients are closed.
const SETTLE: Duration = Duration::from_secs(25);

/// A figure and its budget.
struct Figure {
    what: String,
    /// `None`: it could not be measured.
    measured: Option<f64>,
    budget: f64,
}

impl Figure {
    /// The measured value as people read it.
    fn measured(&self) -> String {
        let digits = if self.budget < 10.0 { 2 } else { 0 };
        match self.measured {
            None => "not measured".to_owned(),
            Some(value) => format!("{value:.digits$}"),
        }
    }
}

/// The figures so far.
#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn add(&mut self, what: impl Into<String>, measured: impl Into<Option<f64>>, budget: f64) {
        let figure = Figure {
            what: what.into(),
            measured: measured.into(),
            budget,
        };
        // A later part may end the run.
        eprintln!(
            "  {}: {} (at most {})",
            figure.what,
            figure.measured(),
            figure.budget
        );
        self.0.push(figure);
    }

    fn print(&self) {
        let mut rows = vec![row(["", "measured", "budget", "of the budget", ""])];
        for figure in &self.0 {
            let (ratio, verdict) = match figure.measured {
                None => (String::new(), ""),
                Some(value) => (
                    format!("{:.2}", value / figure.budget),
                    if value <= figure.budget { "within" } else { "above" },
                ),
            };
            let (measured, budget) = (figure.measured(), figure.budget.to_string());
            rows.push(row([&figure.what, &measured, &budget, &ratio, verdict]));
        }
        table::print(
            &format!(
                "The page with {MANY_HOSTS} hosts that poll once a minute; hosts, service, browser and clients share this machine"
            ),
            &rows,
        );
    }
}

/// Measures each budget and prints the table. Nothing fails because it is slow.
///
/// # Errors
/// If hosts are missing or the service refuses a request.
pub fn measure() -> Result<()> {
    let world = World::on_sqlite(Settings::auth_local);
    let tokens = tokens(&world);
    let folder = tempfile::tempdir()?;
    let mut figures = Figures::default();
    program::measure(&mut figures)?;
    eprintln!("{MANY_HOSTS} hosts register ...");
    let begun = register_all(&world, MANY_HOSTS, &["--share-connections"])?;
    await_quiet(&world)?;
    // Hosts that do not poll would be called disconnected, one after the other, during the measurements.
    let polling = keep_polling(&world, begun.infra_env_id(), folder.path());
    index(&world, &mut figures);
    requests(&world, &mut figures);
    browser::measure(&world, &mut figures)?;
    resting_streams(&world, &tokens, &mut figures)?;
    open_browsers(&world, &tokens, &mut figures)?;
    registrations(&world, &tokens, &mut figures)?;
    drop(polling);
    figures.print();
    Ok(())
}

/// Operators' tokens.
fn tokens(world: &World) -> Vec<String> {
    let folder = world.service.data_dir().display().to_string();
    let arguments = ["token", "--operator", "--data-dir", &folder];
    (0..TOKENS)
        .map(|_| world.service.muster(&arguments).trim().to_owned())
        .collect()
}

/// The registered hosts go on polling, until this is dropped.
fn keep_polling(world: &World, infra_env: &str, folder: &Path) -> Fleet {
    let hosts = MANY_HOSTS.to_string();
    let arguments = [
        "--hosts",
        &hosts,
        "--resume",
        "--skip-states",
        "--share-connections",
        "--poll-interval",
        "60s",
        "--infra-env-id",
        infra_env,
    ];
    let client = world.service.client();
    Fleet::start(
        client.base(),
        client.token(),
        &arguments,
        &folder.join("fleet.log"),
    )
}

/// The service's client with the operator's token.
fn client(world: &World) -> HttpClient {
    world.service.client().http().clone()
}

fn get(client: &HttpClient, path: &str) -> Answer {
    client.request("GET", path, None).expect(200)
}

/// The milliseconds of so many requests of a path, from the first byte of the request to the last of the answer.
fn milliseconds(client: &HttpClient, path: &str) -> Vec<f64> {
    let took = (0..REQUESTS).map(|_| get(client, path).took);
    took.map(|took| took.as_secs_f64() * 1e3).collect()
}

/// The index, which the first search makes.
fn index(world: &World, figures: &mut Figures) {
    let (pid, client) = (world.service.id(), client(world));
    let before = resident_mb(pid);
    let first = get(&client, SEARCH).took;
    sleep(SETTLE);
    eprintln!("  the first search, which makes the index: {first:?}");
    figures.add("index of the hosts, MB", resident_mb(pid) - before, 12.0);
}

/// What the service takes for the page, and for one more letter in its filter.
fn requests(world: &World, figures: &mut Figures) {
    let packed = client(world).with("accept-encoding", "gzip");
    let page = milliseconds(&packed, "/ui/hosts");
    figures.add(
        "page of hosts, by the service: p99, ms",
        percentile(&page, 99),
        40.0,
    );
    let filtered: Vec<f64> = browser::TYPED[..4]
        .iter()
        .flat_map(|text| milliseconds(&packed, &format!("/ui/hosts?q={text}")))
        .collect();
    let part = percentile(&filtered, 95);
    figures.add("key in the filter, by the service: p95, ms", part, 15.0);
}

/// Memory of streams in which nothing happens.
fn resting_streams(world: &World, tokens: &[String], figures: &mut Figures) -> Result<()> {
    eprintln!("{RESTING} streams rest ...");
    let pid = world.service.id();
    let before = resident_mb(pid);
    let open = streams(&world.service.http(), tokens, RESTING)?;
    sleep(SETTLE);
    #[expect(clippy::cast_precision_loss, reason = "some hundred streams")]
    let each = (resident_mb(pid) - before) * 1e3 / open.len() as f64;
    figures.add("a stream at rest, KB", each, 48.0);
    Ok(())
}

/// Browsers that are open for some minutes, in which a host changes every ten seconds.
fn open_browsers(world: &World, tokens: &[String], figures: &mut Figures) -> Result<()> {
    eprintln!("{BROWSERS} browsers for {} s ...", OPEN.as_secs());
    let (pid, client) = (world.service.id(), client(world));
    let host = first_host(&client)?;
    let before = resident_mb(pid);
    let players = Players::start(&world.service.http(), tokens, BROWSERS);
    let mut seen = Vec::new();
    for change in 0..OPEN.as_secs() / 10 {
        rename(&client, &host, &format!("open-{change}"));
        sleep(Duration::from_secs(10));
        seen.push(resident_mb(pid));
    }
    let pages = players.end();
    ensure!(pages > 0, "no browser has loaded a page");
    eprintln!("  {pages} pages were loaded");
    let half = seen.len() / 2;
    let (first, last) = (percentile(&seen[..half], 50), percentile(&seen[half..], 50));
    let what = format!("{BROWSERS} browsers for {} minutes", OPEN.as_secs() / 60);
    figures.add(format!("{what}: memory, MB"), last - before, 20.0);
    figures.add(
        format!("{what}: growth in the second half, MB"),
        last - first,
        1.0,
    );
    Ok(())
}

/// Hosts that register while no page is open, while some are, and while none is again.
fn registrations(world: &World, tokens: &[String], figures: &mut Figures) -> Result<()> {
    eprintln!("{PER_SECOND} registrations a second, without pages and with {PAGES} ...");
    sleep(SETTLE);
    // The index of those that looked before is there in all three.
    let (before, cost_before) = world.cost(|| register(world, "2"));
    sleep(SETTLE);
    let players = Players::start(&world.service.http(), tokens, PAGES);
    sleep(Duration::from_secs(2));
    let (open, cost_open) = world.cost(|| register(world, "3"));
    let pages = players.end();
    sleep(SETTLE);
    let (after, cost_after) = world.cost(|| register(world, "4"));
    eprintln!("  {pages} pages were loaded meanwhile");
    let without = (cost_before.service + cost_after.service) / 2.0;
    let ratio = cost_open.service / without;
    let what = format!("{PER_SECOND} registrations a second, {PAGES} pages open beside none");
    figures.add(format!("{what}: CPU, times"), ratio, 1.1);
    let p99 = |run: &Run| run.latency("poll", "p99_ms");
    let polls = p99(&open) / ((p99(&before) + p99(&after)) / 2.0);
    figures.add(format!("{what}: p99 of polls, times"), polls, 1.2);
    Ok(())
}

fn register(world: &World, seed: &str) -> Run {
    let arguments = [
        "--hosts",
        REGISTERING,
        "--register-rate",
        PER_SECOND,
        "--seed",
        seed,
        "--until-inventory",
        "--skip-states",
        "--share-connections",
    ];
    fleet(&world.service, &arguments)
}

/// The path of the first host of the list, below the API.
fn first_host(client: &HttpClient) -> Result<String> {
    let found = get(client, SEARCH).json();
    let host = &found["hosts"][0];
    let text = |name: &str| {
        host[name]
            .as_str()
            .with_context(|| format!("no {name} in {host}"))
    };
    Ok(format!(
        "/infra-envs/{}/hosts/{}",
        text("infra_env_id")?,
        text("id")?
    ))
}

fn rename(client: &HttpClient, host: &str, name: &str) {
    let body = serde_json::json!({"host_name": name});
    client.patch(host, &body).expect(201);
}
