//! Stores values that all replicas share and that are created once, such as the token-signing key.

use muster_api::time::Timestamp;
use muster_core::record::Secret;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::{StoreError, failed};
use crate::row::micros;
use crate::statement::commit;
use crate::store::Store;
use crate::vault::Place;

impl Store {
    /// The value under `name`.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn setting(&self, name: &str) -> Result<Option<Secret>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query("SELECT value FROM settings WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading a setting"))?;
        let stored = row.map(|row| row.try_get::<String, _>(0)).transpose();
        let stored = stored.map_err(failed("reading a setting"))?;
        stored.map(|stored| self.opened_setting(name, stored)).transpose()
    }

    /// Stores `value` under `name`, replacing an earlier value.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn set_setting(&self, name: &str, now: Timestamp, value: &Secret) -> Result<()> {
        let value = self.sealed_setting(name, value)?;
        let mut transaction = self.writer().await?;
        sqlx::query(
            "INSERT INTO settings (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET value = $2, created_at = $3",
        )
        .bind(name)
        .bind(value)
        .bind(micros(now))
        .execute(&mut *transaction)
        .await
        .map_err(failed("storing a setting"))?;
        commit(transaction).await
    }

    /// The value under `name`, or the one that `make` returns if there is none. If several replicas start at the same time, one stores its
    /// value and all return that one; a value that `make` returned may be discarded.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn setting_or_insert(
        &self,
        name: &str,
        now: Timestamp,
        make: impl FnOnce() -> Secret + Send,
    ) -> Result<Secret> {
        if let Some(value) = self.setting(name).await? {
            return Ok(value);
        }
        let made = self.sealed_setting(name, &make())?;
        let mut transaction = self.writer().await?;
        insert_if_absent(&mut transaction, name, made, now).await?;
        let value = sqlx::query("SELECT value FROM settings WHERE name = $1")
            .bind(name)
            .fetch_one(&mut *transaction)
            .await
            .and_then(|row| row.try_get::<String, _>(0))
            .map_err(failed("reading a setting"))?;
        commit(transaction).await?;
        self.opened_setting(name, value)
    }

    fn sealed_setting(&self, name: &str, value: &Secret) -> Result<String> {
        Ok(self.vault().seal(&place(name), value.reveal().to_owned())?)
    }

    fn opened_setting(&self, name: &str, stored: String) -> Result<Secret> {
        let opened = self.vault().open(&place(name), stored);
        opened.map(Secret::new).map_err(|reason| StoreError::Corrupt {
            table: "settings",
            id: name.to_owned(),
            column: "value",
            reason: reason.into_owned(),
        })
    }
}

/// Stores a setting unless it exists.
pub(crate) async fn insert_if_absent(
    transaction: &mut Transaction<'_, Any>,
    name: &str,
    sealed: String,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO settings (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
    )
    .bind(name)
    .bind(sealed)
    .bind(micros(now))
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed("storing a setting"))
}

/// The place of a setting's value.
pub(crate) fn place(name: &str) -> Place<'_> {
    Place {
        table: "settings",
        column: "value",
        id: name,
    }
}
