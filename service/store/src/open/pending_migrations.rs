//! Lists the migrations that opening a database would apply, without applying them.

use super::address::Address;
use super::migrations::{is_contract, migrator};
use super::tables::{ahead_of, applied, missing_of};
use crate::Result;
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
        let (applied, migrator) = (applied(&address).await, migrator());
        let applied = applied.map_err(|error| address.failed(error))?;
        ahead_of(applied.clone(), &migrator).map_err(|error| address.failed(error))?;
        Ok(missing_of(&applied, &migrator)
            .map(|migration| PendingMigration {
                version: migration.version,
                description: migration.description.to_string(),
                ends_older_versions: is_contract(&migration.description),
            })
            .collect())
    }
}
