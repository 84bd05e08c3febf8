//! Thousands of hosts, simulated by `muster-fleet`: how fast they register, the cost of their polls, and the cost of
//! idle hosts, with and without custom resources for them.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use muster_tests::certificates::Authority;
use muster_tests::database::postgres::Postgres;
use muster_tests::hosts::fleet::{Run, fleet};
use muster_tests::service::{Certificate, Service, Settings};

use crate::table::{self, row};
use crate::usage::{cpu_seconds, family_mb, resident_mb, resident_while};

pub(crate) const HOSTS: u32 = 3000;
pub(crate) const MANY_HOSTS: u32 = 10_000;
const REGION: u32 = 50_000;
/// Pace of the measured polls: 3,000 hosts make 2,000 polls a second.
const PACE: &str = "1500ms";
const POLLING: &str = "20s";
/// CPU seconds a second of an idle service, and the time limit for becoming idle.
const QUIET: f64 = 0.05;
const QUIET_LIMIT: Duration = Duration::from_secs(120);
/// No host is disconnected before three minutes of silence, so the service is idle.
const REST: Duration = Duration::from_secs(60);

/// A service, its database, and the resources of both.
pub(crate) struct World {
    pub(crate) service: Service,
    database: Option<Arc<Postgres>>,
}

/// CPU seconds over a period of time.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) service: f64,
    pub(crate) database: f64,
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            service: self.service + other.service,
            database: self.database + other.database,
        }
    }
}

impl World {
    pub(crate) fn sqlite() -> Self {
        Self::on_sqlite(|settings| settings)
    }

    pub(crate) fn postgres() -> Self {
        Self::on_postgres(|settings| settings)
    }

    pub(crate) fn on_sqlite(with: impl FnOnce(Settings) -> Settings) -> Self {
        Self {
            service: with(Settings::on_address("127.0.0.1").without_live_image()).start(),
            database: None,
        }
    }

    pub(crate) fn on_postgres(with: impl FnOnce(Settings) -> Settings) -> Self {
        Self::on_postgres_by(|url| Ok(url.to_owned()), with).expect("its own URL leads to it")
    }

    /// By another URL than that of the database.
    pub(crate) fn on_postgres_by(
        way: impl FnOnce(&str) -> Result<String>,
        with: impl FnOnce(Settings) -> Settings,
    ) -> Result<Self> {
        let cluster = Postgres::shared();
        let url = way(&cluster.create_database())?;
        let settings = Settings::on_address("127.0.0.1")
            .without_live_image()
            .database(&url);
        Ok(Self {
            service: with(settings).start(),
            database: Some(cluster),
        })
    }

    fn used(&self) -> Cost {
        Cost {
            service: cpu_seconds(self.service.id()),
            database: self
                .database
                .as_ref()
                .map_or(0.0, |database| cpu_seconds(database.id())),
        }
    }

    pub(crate) fn cost<T>(&self, work: impl FnOnce() -> T) -> (T, Cost) {
        let before = self.used();
        let result = work();
        let after = self.used();
        let cost = Cost {
            service: after.service - before.service,
            database: after.database - before.database,
        };
        (result, cost)
    }

    /// The cost of each of so many parts, as [`Self::with_database`] writes it.
    pub(crate) fn each(&self, cost: Cost, parts: f64, digits: usize) -> String {
        self.with_database(cost.service / parts, cost.database / parts, digits)
    }

    /// The share of a core over a time, %.
    pub(crate) fn percent(&self, cost: Cost, time: Duration) -> String {
        self.each(cost, time.as_secs_f64() / 100.0, 2)
    }

    /// `1.23`, or with a database `1.23 + 0.45 database`.
    pub(crate) fn with_database(&self, ours: f64, databases: f64, digits: usize) -> String {
        match self.database {
            None => format!("{ours:.digits$}"),
            Some(_) => format!("{ours:.digits$} + {databases:.digits$}"),
        }
    }
}

/// Measures 3,000 hosts on both databases.
pub fn measure() -> Result<()> {
    // Each service ends before the next one begins: hosts that are not simulated any more become disconnected, which
    // costs time.
    let sqlite = three_thousand(&World::sqlite())?;
    // On loopback the service uses TLS only with a given certificate.
    let folder = tempfile::tempdir()?;
    let (certificate, authority) = (Certificate::in_folder(folder.path()), Authority::new("bench"));
    certificate.issue(&authority);
    fs::write(&certificate.authorities, authority.certificate())?;
    let secure = World::on_sqlite(|settings| settings.certificate(&certificate).auth_local());
    let secure = three_thousand(&secure)?;
    let postgres = three_thousand(&World::postgres())?;
    let mut rows = vec![row([
        "",
        "SQLite",
        "with tokens and TLS",
        "PostgreSQL (+ the database's)",
        "another implementation",
        "aim",
    ])];
    for ((name, theirs, aim), [sqlite, secure, postgres]) in
        ROWS.iter().zip(transpose([sqlite, secure, postgres]))
    {
        rows.push(row([name, &sqlite, &secure, &postgres, theirs, aim]));
    }
    table::print(
        &format!("{HOSTS} hosts; agents, service and database share this machine"),
        &rows,
    );
    Ok(())
}

const ROWS: [(&str, &str, &str); 18] = [
    ("registrations per second, all at once", "", ""),
    ("until all have an inventory, s", "", ""),
    ("registration and first reports, CPU s per 1,000 hosts", "", ""),
    ("with their Agents, CPU s per 1,000 hosts", "", ""),
    ("polls per second, at a pace", "", "2000"),
    ("  median, ms", "", ""),
    ("  p99, ms", "", "5"),
    ("  CPU s per 1,000 polls", "1.2, database included", "0.06"),
    ("polls per second, no pace", "", ""),
    ("  p99, ms", "", ""),
    ("memory at most, all register at once, MB", "", ""),
    ("memory when they have polled for a while, MB", "415", "41.5"),
    ("at rest, no requests: % of a core", "17", "1.7"),
    ("list of all hosts, ms", "465", "80"),
    ("  CPU, ms", "676", "60"),
    ("  memory beyond that before, MB", "", ""),
    ("  gzip, ms", "400", "150"),
    ("  gzip: CPU, ms", "", ""),
];

fn transpose(columns: [Vec<String>; 3]) -> impl Iterator<Item = [String; 3]> {
    let [left, middle, right] = columns;
    let both = left.into_iter().zip(middle).zip(right);
    both.map(|((left, middle), right)| [left, middle, right])
}

/// Hosts that boot each second; 0 for all at once. All of the fleet have one address, which gets fewer connections at
/// once than there are hosts if a process may open 20,000 files; refused hosts would come back after a minute.
pub(crate) fn rate_of(hosts: u32) -> &'static str {
    if hosts < MANY_HOSTS { "0" } else { "1000" }
}

/// Registers so many hosts, until all of them have an inventory, with more arguments.
pub(crate) fn register_all(world: &World, hosts: u32, more: &[&str]) -> Result<Run> {
    let count = hosts.to_string();
    let arguments = [
        "--hosts",
        &count,
        "--register-rate",
        rate_of(hosts),
        "--until-inventory",
        "--skip-states",
    ];
    let run = fleet(&world.service, &[&arguments[..], more].concat());
    ensure!(
        run.count("/inventories/taken") == u64::from(hosts),
        "not all hosts are known: {}",
        run.text()
    );
    Ok(run)
}

/// Waits until the service is idle: Agents are created for hosts after their registration.
pub(crate) fn await_quiet(world: &World) -> Result<()> {
    let limit = Instant::now() + QUIET_LIMIT;
    while Instant::now() < limit {
        let ((), second) = world.cost(|| std::thread::sleep(Duration::from_secs(1)));
        if second.service < QUIET {
            return Ok(());
        }
    }
    bail!(
        "the service still works {} s after the last registration",
        QUIET_LIMIT.as_secs()
    )
}

/// `HOSTS` of an InfraEnv poll at `PACE`.
pub(crate) fn polls_at_pace(world: &World, infra_env: &str) -> Run {
    poll(world, HOSTS, infra_env, [PACE, POLLING], &[])
}

/// So many hosts of an InfraEnv poll at a pace for a time, with more arguments.
pub(crate) fn poll(
    world: &World,
    hosts: u32,
    infra_env: &str,
    [pace, time]: [&str; 2],
    more: &[&str],
) -> Run {
    let hosts = hosts.to_string();
    let arguments = [
        "--hosts",
        &hosts,
        "--resume",
        "--skip-states",
        "--infra-env-id",
        infra_env,
        "--poll-interval",
        pace,
        "--duration",
        time,
    ];
    fleet(&world.service, &[&arguments[..], more].concat())
}

fn three_thousand(world: &World) -> Result<Vec<String>> {
    let pid = world.service.id();
    let ((loaded, begun), begin) = world.cost(|| resident_while(pid, || register_all(world, HOSTS, &[])));
    let begun = begun?;
    let infra_env = begun.infra_env_id();
    let (quiet, mirror) = world.cost(|| await_quiet(world));
    quiet?;
    let ((polled, paced), polling) = world.cost(|| resident_while(pid, || polls_at_pace(world, infra_env)));
    let unpaced = poll(world, HOSTS, infra_env, ["1ms", "10s"], &[]);
    for run in [&paced, &unpaced] {
        let bad: Vec<_> = run
            .endings()
            .into_iter()
            .filter(|(_, ending, _)| ending != "200")
            .collect();
        ensure!(bad.is_empty(), "polls failed: {bad:?}");
    }
    let ((), rest) = world.cost(|| std::thread::sleep(REST));
    let thousand_hosts = f64::from(HOSTS) / 1000.0;
    let thousand_polls = paced.number("/polls/count") / 1000.0;
    let database_mb = world
        .database
        .as_ref()
        .map_or(0.0, |database| family_mb(database.id()));
    let (plain, packed) = (list(world, infra_env, "identity"), list(world, infra_env, "gzip"));
    Ok(vec![
        format!("{:.0}", begun.number("/registrations/per_second")),
        format!("{:.1}", begun.number("/inventories/seconds_until_all")),
        world.each(begin, thousand_hosts, 2),
        world.each(begin + mirror, thousand_hosts, 2),
        format!("{:.0}", paced.number("/polls/per_second")),
        format!("{:.2}", paced.latency("poll", "p50_ms")),
        format!("{:.2}", paced.latency("poll", "p99_ms")),
        world.each(polling, thousand_polls, 3),
        format!("{:.0}", unpaced.number("/polls/per_second")),
        format!("{:.2}", unpaced.latency("poll", "p99_ms")),
        format!("{:.0}", loaded.most),
        world.with_database(polled.last, database_mb, 0),
        world.percent(rest, REST),
        format!("{:.0}", plain.milliseconds),
        world.each(plain.cost, 1e-3, 0),
        format!("{:.0}", plain.more_mb),
        format!("{:.0}", packed.milliseconds),
        world.each(packed.cost, 1e-3, 0),
    ])
}

/// One response with all hosts.
struct Listed {
    milliseconds: f64,
    cost: Cost,
    /// Peak of memory while it was sent, minus that before it.
    more_mb: f64,
}

/// Requests the hosts with their inventories, in this encoding.
fn list(world: &World, infra_env: &str, encoding: &str) -> Listed {
    let client = world
        .service
        .client()
        .http()
        .clone()
        .with("accept-encoding", encoding);
    let path = format!("/infra-envs/{infra_env}/hosts");
    let pid = world.service.id();
    let (before, start) = (resident_mb(pid), Instant::now());
    let ((resident, milliseconds), cost) = world.cost(|| {
        resident_while(pid, || {
            client.get(&path).expect(200);
            1e3 * start.elapsed().as_secs_f64()
        })
    });
    Listed {
        milliseconds,
        cost,
        more_mb: resident.most - before,
    }
}

/// Measures 10,000 idle hosts on SQLite: with an Agent for each on the built-in API, and without. Prints the budgets of
/// a large service.
pub fn measure_rest() -> Result<()> {
    let columns = [
        at_rest(World::sqlite(), MANY_HOSTS, &[])?,
        at_rest(World::on_sqlite(without_agents), MANY_HOSTS, &[])?,
    ];
    print_rest(MANY_HOSTS, ["SQLite, mirrored", "SQLite, --no-mirror"], &columns);
    Ok(())
}

/// Measures the machines of a region on one service of either database. They share connections: a connection for each
/// would be a file.
pub fn measure_region() -> Result<()> {
    let more = ["--share-connections"];
    let columns = [
        at_rest(World::on_sqlite(without_agents), REGION, &more)?,
        at_rest(World::on_postgres(without_agents), REGION, &more)?,
    ];
    print_rest(REGION, ["SQLite", "PostgreSQL (+ the database's)"], &columns);
    Ok(())
}

/// With the hosts of a region, and no custom resources for them.
fn without_agents(settings: Settings) -> Settings {
    settings
        .argument("--no-mirror")
        .argument(&format!("--max-hosts={REGION}"))
}

const REST_ROWS: [(&str, &str); 8] = [
    ("until all have an inventory, s", ""),
    ("registration and first reports, CPU s per 1,000 hosts", ""),
    ("each polls once a minute: % of a core", "2"),
    ("  p99, ms", "5"),
    ("no requests: % of a core", "2"),
    ("memory, MB", "300"),
    ("stop, s", "2"),
    ("start to ready, s", "0.3"),
];

fn print_rest(hosts: u32, names: [&str; 2], columns: &[Vec<String>; 2]) {
    let title = format!("{hosts} hosts at rest, booted {} a second", rate_of(hosts));
    let [left, right] = names;
    table::print_two(&title, [left, right, "budget for 10,000"], &REST_ROWS, columns);
}

/// Hosts poll at the interval of the service, once a minute, or not at all. `more`: arguments of the fleet.
fn at_rest(mut world: World, hosts: u32, more: &[&str]) -> Result<Vec<String>> {
    let (begun, begin) = world.cost(|| register_all(&world, hosts, more));
    let begun = begun?;
    // In the first minute each host connects and is read; the second shows the steady state.
    let seconds = format!("{}s", 2 * REST.as_secs() + 2);
    let (polled, polling) = std::thread::scope(|scope| {
        let polling = scope.spawn(|| poll(&world, hosts, begun.infra_env_id(), ["60s", &seconds], more));
        std::thread::sleep(REST);
        let ((), cost) = world.cost(|| std::thread::sleep(REST));
        (polling.join().expect("the fleet runs to its end"), cost)
    });
    let ((), rest) = world.cost(|| std::thread::sleep(REST));
    let mut figures = vec![
        format!("{:.1}", begun.number("/inventories/seconds_until_all")),
        world.each(begin, f64::from(hosts) / 1e3, 2),
        world.percent(polling, REST),
        format!("{:.2}", polled.latency("poll", "p99_ms")),
        world.percent(rest, REST),
        format!("{:.0}", resident_mb(world.service.id())),
    ];
    let stopping = Instant::now();
    ensure!(
        world.service.terminate().success(),
        "the service ended with an error"
    );
    let (stop, starting) = (stopping.elapsed(), Instant::now());
    world.service.start_again();
    let times = [stop, starting.elapsed()].map(|time| format!("{:.2}", time.as_secs_f64()));
    figures.extend(times);
    Ok(figures)
}
