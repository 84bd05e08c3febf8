//! Sorts the driver's errors by what a caller can do about them, from the codes of both databases.

/// What a caller can do about an error.
#[derive(Debug, PartialEq)]
pub(super) enum Class {
    Full,
    Unavailable,
    Refused,
}

pub(super) fn class(error: &sqlx::Error) -> Class {
    use sqlx::Error;
    match error {
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed => Class::Unavailable,
        Error::Database(database) => database.code().map_or(Class::Refused, |code| by_code(&code)),
        _ => Class::Refused,
    }
}

/// SQLite's (extended) result codes are decimal numbers, <https://www.sqlite.org/rescode.html>; PostgreSQL's SQLSTATEs have five
/// characters, <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn by_code(code: &str) -> Class {
    if code.len() == 5 {
        return match code {
            "53100" => Class::Full,
            // Deadlock and serialization failures, lock and statement timeouts, a server in recovery (read-only).
            "40001" | "40P01" | "55P03" | "25006" => Class::Unavailable,
            _ if ["08", "53", "57", "58"].contains(&&code[..2]) => Class::Unavailable,
            _ => Class::Refused,
        };
    }
    // The low byte is the primary code: 5 BUSY, 6 LOCKED, 8 READONLY, 10 IOERR, 13 FULL, 14 CANTOPEN, 15 PROTOCOL.
    match code.parse::<u32>().map(|code| code & 0xff) {
        Ok(13) => Class::Full,
        Ok(5 | 6 | 8 | 10 | 14 | 15) => Class::Unavailable,
        _ => Class::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_databases_are_sorted_by_what_helps() {
        for (code, want) in [
            ("13", Class::Full),
            ("53100", Class::Full),
            ("5", Class::Unavailable),
            ("517", Class::Unavailable),
            ("778", Class::Unavailable),
            ("57P01", Class::Unavailable),
            ("57014", Class::Unavailable),
            ("40P01", Class::Unavailable),
            ("1555", Class::Refused),
            ("23505", Class::Refused),
            ("42601", Class::Refused),
        ] {
            assert_eq!(by_code(code), want, "{code}");
        }
    }
}
