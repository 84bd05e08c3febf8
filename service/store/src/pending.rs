//! Tells which migrations opening a database would apply, without applying them.

use sqlx::{AnyConnection, Connection};

use crate::Result;
use crate::migrations::{is_contract, migrator};
use crate::open::{Address, NotUpToDate};
use crate::store::Store;

/// A migration that the tables of a database lack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMigration {
    pub version: i64,
    pub description: String,
    /// True when older versions cannot use the tables after it.
    pub ends_older_versions: bool,
}

impl Store {
    /// The migrations that [`Store::open`] would apply to the database at `url`, oldest first. Changes nothing.
    ///
    /// # Errors
    /// As [`Store::open`], which waits for a server that is starting; this does not.
    pub async fn pending_migrations(url: &str) -> Result<Vec<PendingMigration>> {
        sqlx::any::install_default_drivers();
        let address = Address::parse(url)?;
        let applied = applied(&address).await;
        let applied = applied.map_err(|error| address.failed(error))?;
        let migrator = migrator();
        let is_known = |version: i64| migrator.iter().any(|migration| migration.version == version);
        let gone = applied
            .iter()
            .find(|(version, words)| !is_known(*version) && is_contract(words));
        if let Some((version, description)) = gone {
            return Err(address.failed(NotUpToDate::Contracted {
                version: *version,
                description: description.clone(),
            }));
        }
        let missing = migrator
            .iter()
            .filter(|migration| applied.iter().all(|(version, _)| *version != migration.version));
        Ok(missing
            .map(|migration| PendingMigration {
                version: migration.version,
                description: migration.description.to_string(),
                ends_older_versions: is_contract(&migration.description),
            })
            .collect())
    }
}

/// Version and description of what was applied; nothing in an empty database.
async fn applied(address: &Address) -> sqlx::Result<Vec<(i64, String)>> {
    let mut connection = AnyConnection::connect_with(&address.options).await?;
    let read = sqlx::query_as("SELECT version, description FROM _sqlx_migrations ORDER BY version")
        .fetch_all(&mut connection)
        .await;
    connection.close().await?;
    match read {
        // The table is not there: SQLite's general error, and PostgreSQL's undefined_table.
        Err(sqlx::Error::Database(error))
            if error.code().is_some_and(|code| ["1", "42P01"].contains(&&*code)) =>
        {
            Ok(Vec::new())
        }
        read => read,
    }
}
