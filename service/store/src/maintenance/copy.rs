//! Copies a SQLite database while it is in use.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use muster_sql::Kind;
use sqlx::{AnyConnection, Connection as _, Row as _};

use crate::Result;
use crate::error::{StoreError, failed};
use crate::open::{Address, SQLITE_SETTINGS, applied};
use crate::store::Store;

impl Store {
    /// Copies the committed content of the SQLite database at `url` into the new file `copy`, a complete database that only its owner can
    /// read. Readers and writers continue meanwhile, and the tables are copied as they are, whatever their version. Returns the last
    /// migration that was applied to them, 0 if none was. Both files are read completely and checked.
    ///
    /// # Errors
    /// Fails if the database does, if it is damaged or not SQLite, if `copy` is not empty, or if there is no space for it.
    pub async fn copy_file(url: &str, copy: &Path) -> Result<i64> {
        sqlx::any::install_default_drivers();
        let address = Address::parse(url)?;
        if address.kind != Kind::Sqlite {
            return Err(address.failed("only SQLite's file is copied"));
        }
        address.require_file()?;
        let mut connection = connect(&address).await?;
        // The copy returns free space to the disk, even if the original cannot.
        for sql in [SQLITE_SETTINGS, "PRAGMA auto_vacuum = INCREMENTAL"] {
            let set = sqlx::raw_sql(sql).execute(&mut connection).await;
            set.map_err(failed("copying the database"))?;
        }
        check(&mut connection).await?;
        make_private(copy).map_err(|error| address.failed(error))?;
        sqlx::query("VACUUM INTO $1")
            .bind(copy.display().to_string())
            .execute(&mut connection)
            .await
            .map_err(failed("copying the database"))?;
        connection.close().await.map_err(failed("copying the database"))?;
        Self::check_file(copy).await?;
        let copied = Address::of_file(copy, "ro")?;
        let applied = applied(&copied).await.map_err(|error| copied.failed(error))?;
        Ok(applied.last().map_or(0, |(version, _)| *version))
    }

    /// Reads SQLite's file whole, and compares what belongs together in it. Indexes are not compared with their tables, which takes long.
    ///
    /// # Errors
    /// `Damaged`, and those of the database.
    pub async fn check_file(file: &Path) -> Result<()> {
        sqlx::any::install_default_drivers();
        let mut connection = connect(&Address::of_file(file, "ro")?).await?;
        let checked = check(&mut connection).await;
        let closed = connection.close().await.map_err(failed(CHECKING));
        checked.and(closed)
    }
}

const CHECKING: &str = "checking the whole file";

async fn check(connection: &mut AnyConnection) -> Result<()> {
    let found: String = sqlx::query("PRAGMA quick_check(1)")
        .fetch_one(connection)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(failed(CHECKING))?;
    match found.as_str() {
        "ok" => Ok(()),
        _ => Err(StoreError::Damaged {
            doing: CHECKING,
            source: sqlx::Error::Protocol(found),
        }),
    }
}

async fn connect(address: &Address) -> Result<AnyConnection> {
    AnyConnection::connect_with(&address.options)
        .await
        .map_err(|error| address.failed(error))
}

/// Creates an empty file, which SQLite writes into.
fn make_private(file: &Path) -> std::io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .map(drop)
}
