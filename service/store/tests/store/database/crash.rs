//! Sudden death: of the process that writes, and of the database server. No committed change is lost, and no uncommitted change is stored
//! in part.
//!
//! The writer is this program itself, started again with only [`write_until_killed`]. It registers hosts and saves them, and prints `ID
//! VERSION` after each commit. Every write adds one event and one history entry, so that a half-stored change would show in the counts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use muster_api::ids::InfraEnvId;
use muster_store::{EventQuery, Kind, Store, StoreError};
use muster_tests::condition::await_condition;
use muster_tests::database::postgres::Postgres;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::world::{self, World, became_known, event_of, host, registered};

/// The writer's name among the tests of this program.
const WRITER: &str = "database::crash::write_until_killed";
/// Variables of the writer's process.
const URL: &str = "WRITER_URL";
const INFRA_ENV: &str = "WRITER_INFRA_ENV";

#[test]
fn sqlite_keeps_what_was_committed_when_the_writer_is_killed() {
    writer_is_killed(Kind::Sqlite);
}

#[test]
fn postgres_keeps_what_was_committed_when_the_writer_is_killed() {
    writer_is_killed(Kind::Postgres);
}

#[test]
#[ignore = "no test: the process that is killed, started by the others"]
fn write_until_killed() {
    let (Ok(url), Ok(infra_env_id)) = (std::env::var(URL), std::env::var(INFRA_ENV)) else {
        return;
    };
    runtime().block_on(write(&url, infra_env_id.parse().expect("an id")));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn write(url: &str, infra_env_id: InfraEnvId) {
    let store = Store::open(url).await.expect("the writer opens the database");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(async move {
            loop {
                match write_one(&store, infra_env_id).await {
                    Ok(()) => {}
                    // The server is restarting.
                    Err(error) if error.is_temporary() => eprintln!("writer: {error:?}"),
                    Err(error) => panic!("{error:?}"),
                }
            }
        });
    }
    tasks.join_all().await;
}

async fn write_one(store: &Store, infra_env_id: InfraEnvId) -> Result<(), StoreError> {
    let mut new = host(infra_env_id);
    new.version = store
        .insert_host(&new, &registered(), &[event_of(&new, "1")])
        .await?;
    print_committed(&new);
    for _ in 0..3 {
        let message = (new.version + 1).to_string();
        new.version = store
            .save_host(&new, Some(&became_known()), &[event_of(&new, &message)])
            .await?;
        print_committed(&new);
    }
    Ok(())
}

fn print_committed(host: &muster_core::record::Host) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} {}", host.id, host.version)
        .and_then(|()| out.flush())
        .expect("the parent listens");
}

/// The writing process and its output.
struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    committed: Vec<(String, i64)>,
}

impl Writer {
    fn start(url: &str, infra_env_id: InfraEnvId) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command
            .args(["--exact", WRITER, "--ignored", "--nocapture"])
            .env(URL, url)
            .env(INFRA_ENV, infra_env_id.to_string())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the writer starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self {
            child,
            lines,
            committed: Vec::new(),
        }
    }

    fn listen(&mut self) -> bool {
        let Some(line) = self.lines.next() else {
            return false;
        };
        let line = line.expect("the pipe can be read");
        // The last line may be cut, and the first ones are the test program's own.
        if let Some((id, version)) = line.split_once(' ')
            && let Ok(version) = version.parse()
        {
            self.committed.push((id.to_owned(), version));
        }
        true
    }

    fn await_commits(&mut self, count: usize) {
        let wanted = self.committed.len() + count;
        while self.committed.len() < wanted {
            assert!(
                self.listen(),
                "the writer ended after {} commits",
                self.committed.len()
            );
        }
    }

    fn kill(&mut self) -> Vec<(String, i64)> {
        self.child.kill().expect("the writer can be killed");
        while self.listen() {}
        self.child.wait().expect("the writer has ended");
        std::mem::take(&mut self.committed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Already ended, unless a check failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn writer_is_killed(kind: Kind) {
    let runtime = runtime();
    let world = runtime.block_on(World::new(kind));
    let infra_env_id = runtime.block_on(world.infra_env()).id;
    for round in 0..3 {
        let mut writer = Writer::start(&world.url, infra_env_id);
        writer.await_commits(100 + 37 * round);
        let committed = writer.kill();
        await_quiet(&world);
        runtime.block_on(check(&world.store, infra_env_id, &committed));
    }
    // And from a cold start.
    let committed = {
        let mut writer = Writer::start(&world.url, infra_env_id);
        writer.await_commits(100);
        runtime.block_on(world.store.close());
        writer.kill()
    };
    await_quiet(&world);
    let reopened = runtime.block_on(world.another_store());
    runtime.block_on(check(&reopened, infra_env_id, &committed));
}

/// A backend killed hard takes all of PostgreSQL down: shared memory is thrown away and the log is replayed.
#[test]
fn postgres_keeps_what_was_committed_when_it_crashes_and_the_writer_goes_on() {
    let runtime = runtime();
    // A server of its own: the crash ends it for all.
    let cluster = Postgres::start();
    let url = cluster.create_database();
    let store = runtime.block_on(Store::open(&url)).expect("the database opens");
    let record = world::infra_env();
    runtime
        .block_on(store.insert_infra_env(&record, &[]))
        .expect("an InfraEnv is stored");
    let mut writer = Writer::start(&url, record.id);
    for _ in 0..2 {
        writer.await_commits(150);
        let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'muster' ORDER BY backend_start DESC LIMIT 1";
        let backend = cluster
            .query("postgres", sql)
            .trim()
            .parse()
            .expect("a process id");
        kill(Pid::from_raw(backend), Signal::SIGKILL).expect("the backend can be killed");
    }
    // More than the pipe can still hold of what was written before.
    writer.await_commits(5000);
    let committed = writer.kill();
    let reopened = runtime
        .block_on(Store::open(&url))
        .expect("the database opens after crashes");
    runtime.block_on(check(&reopened, record.id, &committed));
    // The store that was open all the time continues as well; a connection that broke meanwhile costs at most one error each.
    runtime.block_on(async {
        for _ in 0..20 {
            if store.ping().await.is_ok() {
                return;
            }
        }
        store.ping().await.expect("the store has new connections");
    });
}

/// PostgreSQL may still be processing the last statements of the killed client.
fn await_quiet(world: &World) {
    let Some(cluster) = &world.cluster else { return };
    let address = world.url.split('?').next().expect("a URL");
    let database = address.rsplit('/').next().expect("the name of the database");
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'muster' AND datname = '{database}' AND state <> 'idle'"
    );
    await_condition(
        "the server to forget the writer",
        Duration::from_secs(60),
        || match cluster.query("postgres", &sql).trim() {
            "0" => Ok(()),
            busy => Err(format!("{busy} transactions")),
        },
    );
}

async fn check(store: &Store, infra_env_id: InfraEnvId, committed: &[(String, i64)]) {
    assert!(committed.len() >= 100);
    let query = EventQuery {
        limit: -1,
        ..EventQuery::default()
    };
    let mut events = std::collections::BTreeMap::<String, Vec<i64>>::new();
    for event in store.list_events(&query).await.expect("events").events {
        let version = event.message.parse().expect("a version");
        events
            .entry(event.host_id.expect("of a host").to_string())
            .or_default()
            .push(version);
    }
    let mut versions = std::collections::BTreeMap::new();
    for host in store.list_host_briefs(Some(infra_env_id)).await.expect("hosts") {
        let history = store
            .host_history(infra_env_id, host.id, 100)
            .await
            .expect("a history");
        let in_history: Vec<i64> = history.iter().map(|record| record.version).collect();
        let all: Vec<i64> = (1..=host.version).collect();
        assert_eq!(in_history, all, "history of {}", host.id);
        let mut told = events.remove(&host.id.to_string()).unwrap_or_default();
        told.sort_unstable();
        assert_eq!(told, all, "events of {}", host.id);
        versions.insert(host.id.to_string(), host.version);
    }
    assert!(events.is_empty(), "events without their host: {events:?}");
    for (id, version) in committed {
        let stored = versions.get(id).copied().unwrap_or(0);
        assert!(
            stored >= *version,
            "{id} was committed as {version}, and is {stored}"
        );
    }
}
