//! What can go wrong with the database, sorted by what a caller can do about it.

/// A failed operation. The texts name what was attempted, never a value of a row.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address cannot be used as it is written.
    #[error("database URL: {reason}")]
    Address {
        /// What to write instead.
        reason: String,
    },
    /// The database did not come up, or its tables could not be made.
    #[error("cannot open the database {address}")]
    Open {
        /// Without password.
        address: String,
        /// The last failure.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database is away, restarting, busy for too long or out of connections. The same call may succeed later.
    #[error("the database is not available ({doing})")]
    Unavailable {
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// No space left for the database. Nothing was changed; the same call succeeds once there is space.
    #[error("the database has no space left ({doing}); free some on its disk")]
    Full {
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// The record was written by another since it was read, or exists already. Load it again and decide again.
    #[error("{table} {id} was changed meanwhile")]
    Conflict {
        /// Table of the record.
        table: &'static str,
        /// Key of the record.
        id: String,
    },
    /// A record that a write refers to is not there, or deleted.
    #[error("{table} {id} does not exist")]
    Missing {
        /// Table of the record.
        table: &'static str,
        /// Key of the record.
        id: String,
    },
    /// A row holds what this version of Muster cannot read.
    #[error("corrupt row in table {table}, id {id}, column {column}: {reason}")]
    Corrupt {
        /// Table of the row.
        table: &'static str,
        /// Key of the row.
        id: String,
        /// Column that could not be read.
        column: &'static str,
        /// Why; never the value.
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
    /// The database refused a statement: a bug here, or a damaged database.
    #[error("the database refused a statement ({doing})")]
    Statement {
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
}

impl StoreError {
    /// Whether the same call may succeed later without anything being decided anew.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Full { .. })
    }

    /// Whether the record has to be loaded and the change decided again.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}

/// Sorts an error of the driver; for `map_err(failed("..."))`.
pub(crate) fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| match trouble(&source) {
        Trouble::Full => StoreError::Full { doing, source },
        Trouble::Away => StoreError::Unavailable { doing, source },
        Trouble::Refused => StoreError::Statement { doing, source },
    }
}

#[derive(Debug, PartialEq)]
enum Trouble {
    Full,
    Away,
    Refused,
}

fn trouble(error: &sqlx::Error) -> Trouble {
    use sqlx::Error;
    match error {
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed => Trouble::Away,
        Error::Database(database) => database.code().map_or(Trouble::Refused, |code| by_code(&code)),
        _ => Trouble::Refused,
    }
}

/// SQLite's (extended) result codes are decimal numbers, <https://www.sqlite.org/rescode.html>; PostgreSQL's SQLSTATEs have five
/// characters, <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn by_code(code: &str) -> Trouble {
    if code.len() == 5 {
        return match code {
            "53100" => Trouble::Full,
            // Deadlock and serialization failures, lock and statement timeouts, a server in recovery (read-only).
            "40001" | "40P01" | "55P03" | "25006" => Trouble::Away,
            _ if ["08", "53", "57", "58"].contains(&&code[..2]) => Trouble::Away,
            _ => Trouble::Refused,
        };
    }
    // The low byte is the primary code: 5 BUSY, 6 LOCKED, 8 READONLY, 10 IOERR, 13 FULL, 14 CANTOPEN, 15 PROTOCOL.
    match code.parse::<u32>().map(|code| code & 0xff) {
        Ok(13) => Trouble::Full,
        Ok(5 | 6 | 8 | 10 | 14 | 15) => Trouble::Away,
        _ => Trouble::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_databases_are_sorted_by_what_helps() {
        for (code, want) in [
            ("13", Trouble::Full),
            ("53100", Trouble::Full),
            ("5", Trouble::Away),
            ("517", Trouble::Away),
            ("778", Trouble::Away),
            ("57P01", Trouble::Away),
            ("57014", Trouble::Away),
            ("40P01", Trouble::Away),
            ("1555", Trouble::Refused),
            ("23505", Trouble::Refused),
            ("42601", Trouble::Refused),
        ] {
            assert_eq!(by_code(code), want, "{code}");
        }
    }
}
