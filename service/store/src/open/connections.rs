//! Connections: how many there are, how each is set up, and when one is tested before it is used.

use std::time::Duration;

use muster_sql::Kind;
use sqlx::any::AnyPoolOptions;
use sqlx::{AnyPool, Connection};

use super::address::Address;
use crate::error::lost_connections;
use crate::store::CONNECTION_PATIENCE;

/// For every SQLite connection. `synchronous=FULL` syncs the log at each commit, so that a power cut loses nothing that was
/// committed; NORMAL would be enough for the death of the process only. Another process (`muster token`) may hold the write
/// lock for a moment, hence the busy timeout. What is deleted or replaced is overwritten: secrets end with what they belonged to.
pub(crate) const SQLITE_SETTINGS: &str = "PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
     PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = ON;";

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

/// The pools of connections that read and that write, which connect when they are used. On PostgreSQL both are the same pool, of at most so
/// many `connections`.
pub(super) fn pools(address: &Address, connections: u32) -> (AnyPool, AnyPool) {
    match address.kind {
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
                writers.connect_lazy_with(address.options.clone()),
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
            let pool = pool.connect_lazy_with(address.options.clone());
            (pool.clone(), pool)
        }
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
