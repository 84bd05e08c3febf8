//! Remembers that the database reported damage: none of its answers, earlier or later, can be relied on.

use std::sync::OnceLock;

use sqlx::Error;

/// The message of the first error that reported damage. One for the process, which has one database.
static FIRST: OnceLock<String> = OnceLock::new();

/// True when this error reports damage; the first is remembered until the process ends. Every place that receives errors of the driver
/// calls it.
pub fn note(error: &Error) -> bool {
    let Error::Database(told) = error else {
        return false;
    };
    let is_damage = told.code().is_some_and(|code| means_damage(&code));
    if is_damage && FIRST.set(told.message().to_owned()).is_ok() {
        tracing::error!(
            %error,
            "the database is damaged: stop the service, look at its disk, and restore a backup; /ready reports it until then"
        );
    }
    is_damage
}

/// The damage that the database reported, if it did.
pub fn noted() -> Option<&'static str> {
    FIRST.get().map(String::as_str)
}

/// SQLite: 11 CORRUPT (in the low byte of an extended code), 26 NOTADB, <https://www.sqlite.org/rescode.html>. PostgreSQL: `data_corrupted`
/// and `index_corrupted`, <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn means_damage(code: &str) -> bool {
    if code.len() == 5 {
        return ["XX001", "XX002"].contains(&code);
    }
    code.parse::<u32>()
        .is_ok_and(|code| [11, 26].contains(&(code & 0xff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_damage_are_those_of_both_databases() {
        for code in ["11", "267", "523", "779", "26", "XX001", "XX002"] {
            assert!(means_damage(code), "{code}");
        }
        for code in [
            "1", "5", "10", "13", "522", "1555", "2067", "XX000", "53100", "42601",
        ] {
            assert!(!means_damage(code), "{code}");
        }
    }
}
