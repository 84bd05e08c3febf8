//! A PostgreSQL cluster for tests: its own data folder, nothing synced to disk, gone when dropped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::{Uid, User};
use tempfile::TempDir;

use crate::process::ports::ReservedPort;
use crate::process::{Program, run};

/// The user that PostgreSQL runs as when tests run as root, which it refuses.
const UNPRIVILEGED: &str = "postgres";

/// A running cluster. Every process on this computer may connect as superuser `postgres`.
pub struct Postgres {
    // The server ends before its folder is removed.
    server: Program,
    port: ReservedPort,
    programs: PathBuf,
    /// Starts the server: `postgres` itself, or a wrapper.
    server_program: PathBuf,
    databases: AtomicU32,
    folder: TempDir,
}

impl Postgres {
    /// Starts a cluster.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_through(Path::to_owned)
    }

    /// The same through a program that becomes the server; `around` creates it from the server's path.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start.
    #[track_caller]
    pub fn start_through(around: impl FnOnce(&Path) -> PathBuf) -> Self {
        let programs = programs();
        let server_program = around(&programs.join("postgres"));
        let folder = tempfile::Builder::new().prefix("muster-postgres-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        give_away(folder.path());
        let data = folder.path().join("data");
        run(as_unprivileged(&programs.join("initdb"))
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--locale=C",
                "--pgdata",
            ])
            .arg(&data));
        let port = ReservedPort::reserve();
        let server = launch(&server_program, folder.path(), &port);
        Self {
            server,
            port,
            programs,
            server_program,
            databases: AtomicU32::new(0),
            folder,
        }
    }

    /// Ends the server and all connections; what was committed stays.
    #[track_caller]
    pub fn stop(&mut self) {
        self.server.signal(Signal::SIGINT);
        self.server.await_exit(Duration::from_secs(60));
    }

    /// Starts it again, on the same port, after [`stop`](Self::stop).
    #[track_caller]
    pub fn start_again(&mut self) {
        self.server = launch(&self.server_program, self.folder.path(), &self.port);
    }

    /// The cluster that tests of this program share; started for the first, stopped after the last that holds
    /// it.
    #[track_caller]
    pub fn shared() -> Arc<Self> {
        static RUNNING: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
        // A start that panicked left no cluster behind; the next may try again.
        let mut running = RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start());
            *running = Arc::downgrade(&started);
            started
        })
    }

    /// The URL of a database of this cluster, which may not exist yet.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port.number())
    }

    /// Creates an empty database of its own; returns its URL.
    ///
    /// # Panics
    /// If the server refuses.
    #[track_caller]
    pub fn create_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.query("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Creates an empty database with its tables and indexes in `folder`; returns its URL. The write-ahead log is
    /// elsewhere.
    ///
    /// # Panics
    /// If the server refuses.
    #[track_caller]
    pub fn create_database_in(&self, folder: &Path) -> String {
        give_away(folder);
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let (space, name) = (format!("space_{number}"), format!("test_{number}"));
        let place = folder.display();
        self.query(
            "postgres",
            &format!("CREATE TABLESPACE {space} LOCATION '{place}'"),
        );
        self.query("postgres", &format!("CREATE DATABASE {name} TABLESPACE {space}"));
        self.url(&name)
    }

    /// Runs SQL; returns `psql`'s unaligned output without headings.
    ///
    /// # Panics
    /// If the server refuses.
    #[track_caller]
    pub fn query(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        run(psql
            .args([
                "--no-psqlrc",
                "--quiet",
                "--tuples-only",
                "--no-align",
                "-v",
                "ON_ERROR_STOP=1",
                "-c",
                sql,
            ])
            .arg(self.url(database)))
    }

    /// The process id of the server; its children serve the connections.
    pub fn id(&self) -> u32 {
        self.server.id()
    }

    /// Ends the server like a crash: connections break, memory is lost.
    pub fn signal(&self, signal: Signal) {
        self.server.signal(signal);
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Immediate shutdown: ends the server's children and releases its shared memory, which SIGKILL would not.
        self.server.signal(Signal::SIGQUIT);
        if !std::thread::panicking() {
            self.server.await_exit(Duration::from_secs(20));
        }
    }
}

#[track_caller]
fn launch(program: &Path, folder: &Path, port: &ReservedPort) -> Program {
    let mut server = as_unprivileged(program);
    server.arg("-D").arg(folder.join("data"));
    server.arg("-k").arg(folder);
    server.arg("-p").arg(port.number().to_string());
    let settings = [
        "listen_addresses=127.0.0.1",
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
    ];
    let sizes = ["max_connections=200", "shared_buffers=64MB", "log_statement=none"];
    for setting in settings.iter().chain(&sizes) {
        server.args(["-c", setting]);
    }
    let mut server = Program::start_shared("PostgreSQL", server, &folder.join("server.log"));
    server.await_output("ready to accept connections", Duration::from_secs(60));
    server
}

/// Debian keeps server programs out of PATH, one folder a version; the newest is taken.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let folders = versions
        .map(|version| version.path().join("bin"))
        .filter(|bin| bin.join("initdb").is_file());
    let version = |bin: &PathBuf| {
        let folder = bin
            .parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str());
        folder.and_then(|name| name.parse::<u32>().ok())
    };
    folders
        .max_by_key(version)
        .unwrap_or_else(|| panic!("PostgreSQL is not in /usr/lib/postgresql: run `make deps`"))
}

fn as_unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if Uid::effective().is_root() {
        command.args(["--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED, "--clear-groups"]);
    }
    command
        .arg("--")
        .arg(program)
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

fn give_away(folder: &Path) {
    if !Uid::effective().is_root() {
        return;
    }
    let user = User::from_name(UNPRIVILEGED).ok().flatten();
    let user = user.unwrap_or_else(|| panic!("there is no user {UNPRIVILEGED}: run `make deps`"));
    let given = std::os::unix::fs::chown(folder, Some(user.uid.as_raw()), Some(user.gid.as_raw()));
    given.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_gets_an_empty_database_of_the_shared_cluster() {
        let (one, other) = (Postgres::shared(), Postgres::shared());
        assert!(Arc::ptr_eq(&one, &other));
        assert_ne!(one.create_database(), other.create_database());
        assert_eq!(
            one.query(
                "test_1",
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            )
            .trim(),
            "0"
        );
    }

    #[test]
    fn a_cluster_ends_with_its_value() {
        let cluster = Postgres::start();
        let process = Path::new("/proc").join(cluster.server.id().to_string());
        assert!(process.exists());
        drop(cluster);
        // Not by its port, which the next test may have reserved already.
        assert!(!process.exists());
    }
}
