//! Brings the tables of a database up to date, or checks that they suffice as they are.

use std::time::Duration;

use muster_sql::Kind;
use sqlx::migrate::{MigrateError, Migration, Migrator};
use sqlx::{AnyConnection, Connection};
use tokio::time::Instant;

use super::address::Address;
use super::connections::SQLITE_SETTINGS;
use super::migrations::{is_contract, migrator};
use crate::Result;

/// The last migration that commands next to a service need, which use settings, operator tokens with their sessions, and InfraEnvs: without it they refuse to
/// run, without later ones they run. Change it with every migration of those tables that the store's statements depend on.
const COMMANDS_NEED: i64 = 20_261_130_131_500;

/// A file below this size, in bytes, that cannot give space back yet is rewritten when it is opened: that takes a moment only.
const REWRITTEN_BELOW: i64 = 64 << 20;

/// What is done about tables that are not those of this version.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tables {
    /// Migrations are applied.
    Migrated,
    /// The tables are left as they are.
    AsTheyAre,
}

/// Waits for a server that is starting, and checks the tables on a separate connection without statement timeout.
pub(super) async fn await_tables(address: &Address, tables: Tables, patience: Duration) -> Result<()> {
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
pub(super) fn missing_of<'a>(
    applied: &'a [Applied],
    migrator: &'a Migrator,
) -> impl Iterator<Item = &'a Migration> {
    migrator
        .iter()
        .filter(|migration| applied.iter().all(|(version, _)| *version != migration.version))
}

/// The reason why the tables are not as this version needs them.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotUpToDate {
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
pub(super) fn ahead_of(applied: Vec<Applied>, migrator: &Migrator) -> Result<Vec<Applied>, NotUpToDate> {
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
