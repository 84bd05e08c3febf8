//! From a URL to a [`Store`]: connect, wait for a server that is still starting, bring the tables up to date.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};
use std::time::Duration;

use muster_sql::Kind;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migration, Migrator};
use sqlx::{AnyConnection, Connection};
use tokio::time::Instant;

use crate::Result;
use crate::error::StoreError;
use crate::error::lost_connections;
use crate::migrations::{is_contract, migrator};
use crate::store::{CONNECTION_PATIENCE, Store};
use crate::vault::Vault;

/// Time for a server to become reachable before opening fails: it is often started together with Muster.
const STARTING_PATIENCE: Duration = Duration::from_secs(60);

/// Default number of connections to PostgreSQL.
const CONNECTIONS: u32 = 16;

/// The last migration that commands next to a service need, which use settings, operator tokens and InfraEnvs: without it they refuse to
/// run, without later ones they run. Change it with every migration of those tables that the store's statements depend on.
const COMMANDS_NEED: i64 = 20_261_122_171_000;

/// For every SQLite connection. `synchronous=FULL` syncs the log at each commit, so that a power cut loses nothing that was
/// committed; NORMAL would be enough for the death of the process only. Another process (`muster token`) may hold the write
/// lock for a moment, hence the busy timeout. What is deleted or replaced is overwritten: secrets end with what they belonged to.
pub(crate) const SQLITE_SETTINGS: &str = "PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
     PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = ON;";

/// A file below this size, in bytes, that cannot give space back yet is rewritten when it is opened: that takes a moment only.
const REWRITTEN_BELOW: i64 = 64 << 20;

/// Additional settings of readers, which must not write by accident.
const SQLITE_READER: &str = "PRAGMA query_only = ON;";

/// Additional settings of the writer: the undo data of a statement with many rows is kept in memory (beyond 64 KiB it would go to a file of
/// its own), and the log is checkpointed once in 16 MiB, because the same pages change again and again.
const SQLITE_WRITER: &str = "PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000;";

/// For every PostgreSQL connection. No statement runs for long unless it meets a lock or a failing server. Plans are made once and kept; a
/// plan from the time when its table had few rows would read the whole table when it has many, so indexes are preferred where they exist.
/// The planner then gives a very high cost to a statement that has to read a whole table, however small, and would compile it: that takes
/// longer than any statement here, and 20 MB of each connection.
const POSTGRES_SETTINGS: &str = "SET application_name = 'muster'; SET statement_timeout = '30s'; \
     SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; SET synchronous_commit = on; \
     SET enable_seqscan = off; SET jit = off;";

impl Store {
    /// Opens the database at `url` and brings its tables up to date. `sqlite://PATH` (the file is created, readable for its owner only; the
    /// folder must exist) or `postgres://USER:PASSWORD@SERVER/DATABASE`. Waits up to a minute for a PostgreSQL server that does not respond
    /// yet.
    ///
    /// # Errors
    /// `Address` for a URL of neither form, `Open` for everything else.
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_as(
            url,
            STARTING_PATIENCE,
            CONNECTIONS,
            Vault::default(),
            Tables::Migrated,
        )
        .await
    }

    /// Opens an existing database for a command that runs next to its service, and leaves its tables as they are: a newer program that
    /// reads tokens must not stop the older service. The tables suffice if all migrations that the commands need are applied, if none of
    /// the missing ones removes what older versions use (data may have to be moved before such a migration), and if no newer version has
    /// applied such a migration. Without `keys` no secret in it can be read.
    ///
    /// # Errors
    /// As [`Store::open_with_keys`], and `Open` where the tables do not suffice.
    pub async fn open_beside_service(url: &str, keys: Option<Vault>) -> Result<Self> {
        let reads_secrets = keys.is_some();
        let vault = keys.unwrap_or_default();
        let store = Self::open_as(url, STARTING_PATIENCE, CONNECTIONS, vault, Tables::AsTheyAre).await?;
        if reads_secrets {
            store.check_keys().await?;
        }
        Ok(store)
    }

    /// [`Store::open`] with the keys of the secrets in the database, which must be all that it needs, and at most so many connections to a
    /// PostgreSQL server (`None`: as many as [`Store::open`] has).
    ///
    /// # Errors
    /// As [`Store::open`], and `Locked` when a key is missing.
    pub async fn open_with_keys(url: &str, vault: Vault, connections: Option<u32>) -> Result<Self> {
        let connections = connections.unwrap_or(CONNECTIONS);
        let store = Self::open_as(url, STARTING_PATIENCE, connections, vault, Tables::Migrated).await?;
        store.check_keys().await?;
        Ok(store)
    }

    /// The database that a URL names, which is not looked for.
    ///
    /// # Errors
    /// `Address` for a URL that [`Store::open`] does not take.
    pub fn kind_of(url: &str) -> Result<Kind> {
        sqlx::any::install_default_drivers();
        Address::parse(url).map(|address| address.kind)
    }

    /// [`Store::open`] with another patience for a server that does not answer.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_within(url: &str, patience: Duration) -> Result<Self> {
        Self::open_as(url, patience, CONNECTIONS, Vault::default(), Tables::Migrated).await
    }

    async fn open_as(
        url: &str,
        patience: Duration,
        connections: u32,
        vault: Vault,
        tables: Tables,
    ) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let address = Address::parse(url)?;
        match tables {
            Tables::Migrated => address.prepare_file()?,
            Tables::AsTheyAre => address.require_file()?,
        }
        await_tables(&address, tables, patience).await?;
        let (readers, writers) = match address.kind {
            Kind::Sqlite => {
                let pool = || pool_options(Kind::Sqlite).idle_timeout(None).max_lifetime(None);
                let readers = pool().max_connections(4).after_connect(|connection, _| {
                    Box::pin(async move {
                        sqlx::raw_sql(SQLITE_SETTINGS).execute(&mut *connection).await?;
                        sqlx::raw_sql(SQLITE_READER).execute(&mut *connection).await?;
                        Ok(())
                    })
                });
                let writers = pool().max_connections(1).after_connect(|connection, _| {
                    Box::pin(async move {
                        sqlx::raw_sql(SQLITE_SETTINGS).execute(&mut *connection).await?;
                        sqlx::raw_sql(SQLITE_WRITER).execute(&mut *connection).await?;
                        Ok(())
                    })
                });
                (
                    readers.connect_lazy_with(address.options.clone()),
                    writers.connect_lazy_with(address.options),
                )
            }
            Kind::Postgres => {
                let pool = pool_options(Kind::Postgres)
                    .max_connections(connections)
                    .after_connect(|connection, _| {
                        Box::pin(async move {
                            sqlx::raw_sql(POSTGRES_SETTINGS)
                                .execute(connection)
                                .await
                                .map(drop)
                        })
                    });
                let pool = pool.connect_lazy_with(address.options);
                (pool.clone(), pool)
            }
        };
        Ok(Self::new(address.kind, readers, writers, url, vault))
    }
}

/// A connection to a server is tested before use only after it was idle for so long, or when another was lost meanwhile: each test is a
/// round trip.
const TESTED_AFTER: Duration = Duration::from_secs(1);

fn pool_options(kind: Kind) -> AnyPoolOptions {
    AnyPoolOptions::new()
        .acquire_timeout(CONNECTION_PATIENCE)
        .test_before_acquire(false)
        .before_acquire(move |connection, unused| {
            Box::pin(async move {
                // SQLite ends the transaction itself when the disk is full or fails. sqlx's own rollback then fails, and its state stays in
                // a transaction: such a connection would refuse every further write.
                let may_be_used = !connection.is_in_transaction();
                let in_doubt = unused.idle_for >= TESTED_AFTER || lost_connections::since(unused.idle_for);
                let must_test = kind == Kind::Postgres && in_doubt;
                if !may_be_used || !must_test {
                    return Ok(may_be_used);
                }
                let answer = connection.ping().await;
                Ok(answer.inspect_err(lost_connections::note).is_ok())
            })
        })
}

/// What is done about tables that are not those of this version.
#[derive(Debug, Clone, Copy)]
enum Tables {
    /// Migrations are applied.
    Migrated,
    /// The tables are left as they are.
    AsTheyAre,
}

/// A parsed URL.
pub(crate) struct Address {
    pub(crate) kind: Kind,
    pub(crate) options: AnyConnectOptions,
    /// For messages: without password.
    shown: String,
    /// SQLite's file.
    file: Option<PathBuf>,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let refused = |reason: &str| StoreError::Address {
            reason: reason.to_owned(),
        };
        let options = |url: &str| -> Result<AnyConnectOptions> {
            url.parse().map_err(|_| {
                refused("not a URL; sqlite:///PATH or postgres://USER:PASSWORD@SERVER/DATABASE is expected")
            })
        };
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let options = options(url)?;
            let mut shown = options.database_url.clone();
            // Fails only for URLs that cannot have a password.
            let _ = shown.set_password(None);
            shown.set_query(None);
            return Ok(Self {
                kind: Kind::Postgres,
                options,
                shown: shown.to_string(),
                file: None,
            });
        }
        let path = url
            .strip_prefix("sqlite://")
            .or_else(|| url.strip_prefix("sqlite:"))
            .ok_or_else(|| refused("it must begin with sqlite:// or postgres://"))?;
        if path.is_empty() || path.starts_with(":memory:") {
            return Err(refused(
                "Muster keeps its data in a file: name one, as in sqlite:///var/lib/muster/muster.db",
            ));
        }
        if path.contains('?') {
            return Err(refused("a SQLite URL takes no parameters; Muster chooses them"));
        }
        Self::of_file(Path::new(path), "rwc")
    }

    /// SQLite's file, opened in a mode of SQLite's: `ro` reads, `rwc` writes and makes the file where there is none.
    pub(crate) fn of_file(path: &Path, mode: &str) -> Result<Self> {
        let refused = |error: &dyn StdError| StoreError::Address {
            reason: error.to_string(),
        };
        let file = std::path::absolute(path).map_err(|error| refused(&error))?;
        let url = format!("sqlite://{}?mode={mode}", percent_encoded(&file));
        Ok(Self {
            kind: Kind::Sqlite,
            options: url.parse().map_err(|error: sqlx::Error| refused(&error))?,
            shown: format!("sqlite://{}", file.display()),
            file: Some(file),
        })
    }

    pub(crate) fn failed(&self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> StoreError {
        StoreError::Open {
            address: self.shown.clone(),
            source: source.into(),
        }
    }

    /// Makes SQLite's file before SQLite does: it holds keys and pull secrets, so it is for its owner only. SQLite gives its
    /// log files the same permissions.
    fn prepare_file(&self) -> Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let Some(file) = &self.file else { return Ok(()) };
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(file)
            .map(drop)
            .map_err(|error| self.failed(format!("cannot write {}: {error}", file.display())))
    }

    /// # Errors
    /// If SQLite's file does not exist.
    pub(crate) fn require_file(&self) -> Result<()> {
        match &self.file {
            Some(file) if !file.exists() => Err(self.failed("there is no such file")),
            _ => Ok(()),
        }
    }
}

fn percent_encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                text.push(char::from(*byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

/// Waits for a server that is starting, and checks the tables on a separate connection without statement timeout.
async fn await_tables(address: &Address, tables: Tables, patience: Duration) -> Result<()> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(100);
    loop {
        let looked_at = match tables {
            Tables::Migrated => migrate(address).await,
            Tables::AsTheyAre => require_tables(address).await,
        };
        let error = match looked_at {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !worth_waiting(address.kind, &error) || Instant::now() + pause > deadline {
            return Err(address.failed(error));
        }
        tracing::warn!(database = %address.shown, %error, retry_in_ms = pause.as_millis() as u64, "the database is not ready yet");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

async fn migrate(address: &Address) -> Result<(), NotUpToDate> {
    let mut migrator = migrator();
    match apply(address, &migrator).await {
        Err(MigrateError::VersionMissing(version)) => {
            let ahead = ahead_of(applied(address).await?, &migrator)?;
            tracing::warn!(
                version,
                migrations = ahead.len(),
                "a newer version has used this database and added to it only, so this one goes on; what it does not know it passes over"
            );
            migrator.set_ignore_missing(true);
            Ok(apply(address, &migrator).await?)
        }
        applied => Ok(applied?),
    }
}

/// # Errors
/// The tables do not suffice for the commands that run next to a service.
async fn require_tables(address: &Address) -> Result<(), NotUpToDate> {
    require(applied(address).await?, &migrator())
}

fn require(applied: Vec<Applied>, migrator: &Migrator) -> Result<(), NotUpToDate> {
    let is_behind = missing_of(&applied, migrator)
        .any(|migration| migration.version <= COMMANDS_NEED || is_contract(&migration.description));
    ahead_of(applied, migrator)?;
    if is_behind {
        Err(NotUpToDate::Behind)
    } else {
        Ok(())
    }
}

/// The migrations that are not among those applied, oldest first.
pub(crate) fn missing_of<'a>(
    applied: &'a [Applied],
    migrator: &'a Migrator,
) -> impl Iterator<Item = &'a Migration> {
    migrator
        .iter()
        .filter(|migration| applied.iter().all(|(version, _)| *version != migration.version))
}

/// The reason why the tables are not as this version needs them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotUpToDate {
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    #[error(
        "a newer version of Muster has taken away what this one uses (migration {version}, {description}): start the newer version, or restore the backup that was made before it"
    )]
    Contracted { version: i64, description: String },
    #[error(
        "its tables are those of an older version of Muster: use the muster of the service that runs; or run muster migrate, or start the service of this version, which brings them up to date"
    )]
    Behind,
}

/// Version and description of the migrations that a newer version has applied.
///
/// # Errors
/// `Contracted` when this version cannot use the tables after one of them.
pub(crate) fn ahead_of(applied: Vec<Applied>, migrator: &Migrator) -> Result<Vec<Applied>, NotUpToDate> {
    let mut ahead = applied;
    ahead.retain(|(version, _)| migrator.iter().all(|migration| migration.version != *version));
    match ahead.iter().find(|(_, description)| is_contract(description)) {
        Some((version, description)) => Err(NotUpToDate::Contracted {
            version: *version,
            description: description.clone(),
        }),
        None => Ok(ahead),
    }
}

/// Version and description.
pub(crate) type Applied = (i64, String);

/// The migrations that were applied, oldest first; none in an empty database.
pub(crate) async fn applied(address: &Address) -> Result<Vec<Applied>, MigrateError> {
    let mut connection = AnyConnection::connect_with(&address.options).await?;
    let read = sqlx::query_as("SELECT version, description FROM _sqlx_migrations ORDER BY version")
        .fetch_all(&mut connection)
        .await;
    connection.close().await?;
    match read {
        // The table is not there: SQLite's general error, and PostgreSQL's undefined_table.
        Err(sqlx::Error::Database(error))
            if error.code().is_some_and(|code| ["1", "42P01"].contains(&&*code)) =>
        {
            Ok(Vec::new())
        }
        read => Ok(read?),
    }
}

async fn apply(address: &Address, migrator: &Migrator) -> Result<(), MigrateError> {
    let mut connection = AnyConnection::connect_with(&address.options).await?;
    if address.kind == Kind::Sqlite {
        sqlx::raw_sql(SQLITE_SETTINGS).execute(&mut connection).await?;
        // Of a new file, before its first table; [`Store::give_space_back`] needs it.
        sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL")
            .execute(&mut connection)
            .await?;
        // Kept in the file from here on.
        sqlx::raw_sql("PRAGMA journal_mode = WAL")
            .execute(&mut connection)
            .await?;
    }
    migrator.run_direct(None, &mut connection, false).await?;
    if address.kind == Kind::Sqlite {
        let old = "SELECT 1 FROM pragma_auto_vacuum() a, pragma_page_count() c, pragma_page_size() s
             WHERE a.auto_vacuum = 0 AND c.page_count * s.page_size < $1";
        let old = sqlx::query(old)
            .bind(REWRITTEN_BELOW)
            .fetch_optional(&mut connection)
            .await?;
        if old.is_some()
            && let Err(error) = sqlx::raw_sql("VACUUM").execute(&mut connection).await
        {
            tracing::debug!(%error, "the database is in use and will not give space back yet");
        }
    }
    connection.close().await?;
    Ok(())
}

/// True when a retry can help: the server is starting, or another process is applying the same migrations to the file.
fn worth_waiting(kind: Kind, error: &NotUpToDate) -> bool {
    use sqlx::Error;
    let NotUpToDate::Migrate(MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _)) =
        error
    else {
        return false;
    };
    match source {
        Error::Io(_) | Error::PoolTimedOut => kind == Kind::Postgres,
        Error::Database(database) => match kind {
            // 57P03: starting up or shutting down; 53300: no connection free.
            Kind::Postgres => database
                .code()
                .is_some_and(|code| ["57P03", "53300"].contains(&&*code)),
            // 1: a table that the other process created; 5: its lock; 1555 and 2067: its record of having applied it.
            Kind::Sqlite => database
                .code()
                .is_some_and(|code| ["1", "5", "261", "517", "1555", "2067"].contains(&&*code)),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests;
