//! From a URL to a [`Store`]: connect, wait for a server that is still starting, bring the tables up to date.

mod address;
mod connections;
mod migrations;
mod pending_migrations;
mod tables;

use std::time::Duration;

use muster_sql::Kind;

use crate::Result;
use crate::store::Store;
use crate::vault::Vault;
use connections::pools;
use tables::{Tables, await_tables};

pub(crate) use address::Address;
pub(crate) use connections::SQLITE_SETTINGS;
pub use pending_migrations::PendingMigration;
pub(crate) use tables::applied;

/// Time for a server to become reachable before opening fails: it is often started together with Muster.
const STARTING_PATIENCE: Duration = Duration::from_secs(60);

/// Default number of connections to PostgreSQL.
const CONNECTIONS: u32 = 16;

impl Store {
    /// Opens the database at `url` and brings its tables up to date. `sqlite://PATH` (the file is created, readable for its owner only; the
    /// folder must exist) or `postgres://USER:PASSWORD@SERVER/DATABASE`. Waits up to a minute for a PostgreSQL server that does not respond
    /// yet.
    ///
    /// # Errors
    /// `Address` for a URL of neither form, `Open` for everything else.
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_as(
            url,
            STARTING_PATIENCE,
            CONNECTIONS,
            Vault::default(),
            Tables::Migrated,
        )
        .await
    }

    /// Opens an existing database for a command that runs next to its service, and leaves its tables as they are: a newer program that
    /// reads tokens must not stop the older service. The tables suffice if all migrations that the commands need are applied, if none of
    /// the missing ones removes what older versions use (data may have to be moved before such a migration), and if no newer version has
    /// applied such a migration. Without `keys` no secret in it can be read.
    ///
    /// # Errors
    /// As [`Store::open_with_keys`], and `Open` where the tables do not suffice.
    pub async fn open_beside_service(url: &str, keys: Option<Vault>) -> Result<Self> {
        let reads_secrets = keys.is_some();
        let vault = keys.unwrap_or_default();
        let store = Self::open_as(url, STARTING_PATIENCE, CONNECTIONS, vault, Tables::AsTheyAre).await?;
        if reads_secrets {
            store.check_keys().await?;
        }
        Ok(store)
    }

    /// [`Store::open`] with the keys of the secrets in the database, which must be all that it needs, and at most so many connections to a
    /// PostgreSQL server (`None`: as many as [`Store::open`] has).
    ///
    /// # Errors
    /// As [`Store::open`], and `Locked` when a key is missing.
    pub async fn open_with_keys(url: &str, vault: Vault, connections: Option<u32>) -> Result<Self> {
        let connections = connections.unwrap_or(CONNECTIONS);
        let store = Self::open_as(url, STARTING_PATIENCE, connections, vault, Tables::Migrated).await?;
        store.check_keys().await?;
        Ok(store)
    }

    /// The database that a URL names, which is not looked for.
    ///
    /// # Errors
    /// `Address` for a URL that [`Store::open`] does not take.
    pub fn kind_of(url: &str) -> Result<Kind> {
        sqlx::any::install_default_drivers();
        Address::parse(url).map(|address| address.kind)
    }

    /// [`Store::open`] with another patience for a server that does not answer.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_within(url: &str, patience: Duration) -> Result<Self> {
        Self::open_as(url, patience, CONNECTIONS, Vault::default(), Tables::Migrated).await
    }

    async fn open_as(
        url: &str,
        patience: Duration,
        connections: u32,
        vault: Vault,
        tables: Tables,
    ) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let address = Address::parse(url)?;
        match tables {
            Tables::Migrated => address.prepare_file()?,
            Tables::AsTheyAre => address.require_file()?,
        }
        await_tables(&address, tables, patience).await?;
        let (readers, writers) = pools(&address, connections);
        Ok(Self::new(address.kind, readers, writers, url, vault))
    }
}
