//! Holds every change of the tables since the first version, from the folder `migrations/`.
//!
//! `sqlx::migrate!` would do the same, but has sqlx, SQLite and their dependencies compiled a second time for the macro:
//! a tenth of a build from nothing.

use std::borrow::Cow;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, description and SQL of each file; `build.rs` lists them.
const FILES: &[(i64, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

/// First word of the description of a migration that takes away what older versions use. All others only add, so that an older
/// version works on with the tables of a newer one.
const CONTRACT: &str = "contract";

/// True for the description of a migration after which older versions cannot use the tables.
pub(crate) fn is_contract(description: &str) -> bool {
    description.split(' ').next() == Some(CONTRACT)
}

pub(crate) fn migrator() -> Migrator {
    let migrations = FILES.iter().map(|&(version, description, sql)| {
        let (description, sql) = (Cow::Borrowed(description), SqlStr::from_static(sql));
        // Each in a transaction of its own.
        Migration::new(version, description, MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(migrations.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements, upper case, that break older versions.
    const TAKES_AWAY: [&str; 8] = [
        "DROP TABLE",
        "DROP COLUMN",
        "DROP CONSTRAINT",
        "RENAME",
        "ALTER COLUMN",
        "SET NOT NULL",
        "DELETE FROM",
        "ADD CONSTRAINT",
    ];

    #[test]
    fn what_takes_away_from_older_versions_says_so_in_its_name() {
        for (version, description, sql) in FILES {
            let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
            let sql = lines.collect::<Vec<_>>().join(" ").to_uppercase();
            let words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
            for statement in words.split(';') {
                let required = statement.contains("ADD COLUMN")
                    && statement.contains("NOT NULL")
                    && !statement.contains("DEFAULT");
                assert!(
                    is_contract(description)
                        || !required && !TAKES_AWAY.iter().any(|gone| statement.contains(gone)),
                    "migration {version}: name it {version}_contract_..., or leave what older versions use: {statement}"
                );
            }
        }
    }

    /// As `sqlx::migrate!` wrote them into databases: a changed one would refuse to open.
    #[test]
    fn versions_descriptions_and_checksums_are_those_of_sqlx() {
        let first = &migrator().migrations[0];
        assert_eq!(first.version, 20_261_121_145_500);
        assert_eq!(first.description, "hosts infra envs and their events");
        let sha384 = "2bfdbb33bb4bbcceba1cc11e43c09cac5630243ef8c346b8\
                      f153facfad7aea2f349e9e0dd3680e87d61a1c57108f973d";
        let checksum: String = first.checksum.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(checksum, sha384);
    }
}
