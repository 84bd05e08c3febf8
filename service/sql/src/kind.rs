//! Names the two databases, and the clauses of statements that differ between them.

use sqlx::{Any, AnyPool, Transaction};
use strum::IntoStaticStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// One file, one process that writes.
    Sqlite,
    /// A server, any number of replicas.
    Postgres,
}

impl Kind {
    /// `sqlite` or `postgres`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Appended to a `SELECT` in a write transaction: other transactions cannot delete or change the row before it ends. SQLite has one
    /// writer at a time, so nothing is needed there.
    pub fn holding(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR SHARE",
        }
    }

    /// Appended to a `SELECT` in a write transaction: no other transaction may even hold the row.
    pub fn locking(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE",
        }
    }

    /// Appended to the `SELECT` of a claim: rows that another transaction is claiming are skipped.
    pub fn skipping(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// Begins a write transaction. On SQLite it takes the write lock immediately: a transaction that took it only after reading could be
    /// refused.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn begin_write(self, writers: &AnyPool) -> sqlx::Result<Transaction<'static, Any>> {
        match self {
            Self::Sqlite => writers.begin_with("BEGIN IMMEDIATE").await,
            Self::Postgres => begin_on_server(writers, "BEGIN").await,
        }
    }

    /// Begins a transaction in which all reads see the same state.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn begin_read(self, readers: &AnyPool) -> sqlx::Result<Transaction<'static, Any>> {
        match self {
            Self::Sqlite => readers.begin().await,
            Self::Postgres => {
                begin_on_server(readers, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
            }
        }
    }
}

/// Begins a transaction in a task of its own, so that a caller that is dropped meanwhile does not leave it half begun. The server is in the
/// transaction then, sqlx 0.9 counts none, and the connection goes back to the pool: what it is used for next would be part of it,
/// without a commit, and perhaps read-only.
async fn begin_on_server(pool: &AnyPool, statement: &'static str) -> sqlx::Result<Transaction<'static, Any>> {
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin_with(statement).await });
    begun.await.unwrap_or_else(|ended| match ended.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        // The runtime stops.
        Err(_) => Err(sqlx::Error::PoolClosed),
    })
}
