//! Classifies errors of the database by what a caller can do about them.

mod class;
pub(crate) mod lost_connections;

use muster_sql::damage;

use crate::vault::SealingFailed;
use class::{Class, class};

/// Result of an operation on the database.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A failed operation. The texts name what was attempted, never a value of a row.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address cannot be used as it is written.
    #[error("database URL: {reason}")]
    Address { reason: String },
    /// The database could not be opened, or its tables could not be created.
    #[error("cannot open the database {address}")]
    Open {
        /// Without password.
        address: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database is away, restarting, busy for too long or out of connections. The same call may succeed later.
    #[error("the database is not available ({doing})")]
    Unavailable {
        doing: &'static str,
        #[source]
        source: sqlx::Error,
    },
    /// No space left for the database. Nothing was changed; the same call succeeds once there is space.
    #[error("the database has no space left ({doing}); free some on its disk")]
    Full {
        doing: &'static str,
        #[source]
        source: sqlx::Error,
    },
    /// The record was written by another writer since it was read, or exists already. Load it again and decide again.
    #[error("{table} {id} was changed meanwhile")]
    Conflict {
        table: &'static str,
        /// Key of the record.
        id: String,
    },
    /// A record that a write refers to does not exist, or is deleted.
    #[error("{table} {id} does not exist")]
    Missing {
        table: &'static str,
        /// Key of the record.
        id: String,
    },
    /// A row holds content that this version of Muster cannot read.
    #[error("corrupt row in table {table}, id {id}, column {column}: {reason}")]
    Corrupt {
        table: &'static str,
        id: String,
        column: &'static str,
        /// Never quotes the value, which may be secret.
        reason: String,
    },
    /// A record that cannot be written as a row.
    #[error("cannot write {table}.{column} as JSON")]
    Encode {
        table: &'static str,
        column: &'static str,
        #[source]
        source: serde_json::Error,
    },
    /// A secret that cannot be encrypted. It is not stored.
    #[error(transparent)]
    Sealing(#[from] SealingFailed),
    /// The given keys do not open the values of the database.
    #[error("the database is locked: {reason}")]
    Locked { reason: String },
    /// The database's file is damaged: no answer of it can be relied on.
    #[error("the database is damaged ({doing}): stop the service, look at its disk, and restore a backup")]
    Damaged {
        doing: &'static str,
        #[source]
        source: sqlx::Error,
    },
    /// The database refused a statement: a bug here.
    #[error("the database refused a statement ({doing})")]
    Statement {
        doing: &'static str,
        #[source]
        source: sqlx::Error,
    },
}

impl StoreError {
    /// True when the same call may succeed later, without a new decision.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Full { .. })
    }

    /// The error for another caller that waited for the same statement: of the same kind, with the driver's message.
    pub(crate) fn of_another(&self) -> Self {
        let words = |source: &sqlx::Error| sqlx::Error::Io(std::io::Error::other(source.to_string()));
        match self {
            Self::Full { doing, source } => Self::Full {
                doing,
                source: words(source),
            },
            Self::Damaged { doing, source } => Self::Damaged {
                doing,
                source: words(source),
            },
            Self::Statement { doing, source } => Self::Statement {
                doing,
                source: words(source),
            },
            Self::Unavailable { doing, source } => Self::Unavailable {
                doing,
                source: words(source),
            },
            other => Self::Unavailable {
                doing: "sharing a statement",
                source: sqlx::Error::Io(std::io::Error::other(other.to_string())),
            },
        }
    }

    /// True when the record has to be loaded and the change decided again.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}

/// The error of a caller that waits for another task, when that task ends with its runtime.
pub(crate) fn runtime_ended(doing: &'static str) -> StoreError {
    StoreError::Unavailable {
        doing,
        source: sqlx::Error::WorkerCrashed,
    }
}

/// True when a row with the same unique columns exists.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

/// Classifies an error of the driver; for `map_err(failed("..."))`.
pub(crate) fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| {
        lost_connections::note(&source);
        if damage::note(&source) {
            return StoreError::Damaged { doing, source };
        }
        match class(&source) {
            Class::Full => StoreError::Full { doing, source },
            Class::Unavailable => StoreError::Unavailable { doing, source },
            Class::Refused => StoreError::Statement { doing, source },
        }
    }
}
