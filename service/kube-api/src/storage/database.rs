//! Begins transactions as SQLite and PostgreSQL need it.

use sqlx::{Any, AnyConnection, AnyPool, Connection as _, Transaction};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// One file, one process that writes.
    Sqlite,
    /// A server with any number of replicas that write.
    Postgres,
}

impl Database {
    /// Begins a transaction in which all reads see the same revision.
    pub(super) async fn begin_read(
        self,
        connection: &mut AnyConnection,
    ) -> sqlx::Result<Transaction<'_, Any>> {
        match self {
            Self::Sqlite => connection.begin().await,
            Self::Postgres => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                connection.begin_with(begin).await
            }
        }
    }

    /// Begins a write transaction. On SQLite it takes the write lock at once.
    pub(super) async fn begin_write(self, writers: &AnyPool) -> sqlx::Result<Transaction<'static, Any>> {
        match self {
            Self::Sqlite => writers.begin_with("BEGIN IMMEDIATE").await,
            Self::Postgres => writers.begin().await,
        }
    }

    /// Selects the current revision and keeps other replicas from writing until the transaction ends.
    pub(super) fn lock_revision(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT revision FROM kube_revision WHERE id = 1",
            Self::Postgres => "SELECT revision FROM kube_revision WHERE id = 1 FOR UPDATE",
        }
    }
}
