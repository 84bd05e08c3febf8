//! Holds every change of the tables since the first version, from the folder `migrations/`.
//!
//! `sqlx::migrate!` would do the same, but has sqlx, SQLite and their dependencies compiled a second time for the macro:
//! a tenth of a build from nothing.

use std::borrow::Cow;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, description and SQL of each file; `build.rs` lists them.
const FILES: &[(i64, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

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
