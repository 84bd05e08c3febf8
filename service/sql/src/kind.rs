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
            Self::Postgres => writers.begin().await,
        }
    }
}
