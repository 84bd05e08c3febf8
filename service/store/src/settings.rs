//! Stores values that all replicas share and that are made once, such as the token-signing key.

use muster_api::time::Timestamp;
use muster_core::record::Secret;
use sqlx::Row;

use crate::Result;
use crate::error::failed;
use crate::row::micros;
use crate::statement::commit;
use crate::store::Store;

impl Store {
    /// The value under `name`.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn setting(&self, name: &str) -> Result<Option<Secret>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query("SELECT value FROM settings WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading a setting"))?;
        row.map(|row| {
            row.try_get::<String, _>(0)
                .map(Secret::new)
                .map_err(failed("reading a setting"))
        })
        .transpose()
    }

    /// Stores `value` under `name`, in place of what was there.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn set_setting(&self, name: &str, now: Timestamp, value: &Secret) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query(
            "INSERT INTO settings (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET value = $2, created_at = $3",
        )
        .bind(name)
        .bind(value.reveal())
        .bind(micros(now))
        .execute(&mut *transaction)
        .await
        .map_err(failed("storing a setting"))?;
        commit(transaction).await
    }

    /// The value under `name`, made by `make` when there is none. Of several replicas that start at once one makes it and all
    /// answer the same; `make` may run in vain.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn setting_or_insert(
        &self,
        name: &str,
        now: Timestamp,
        make: impl FnOnce() -> Secret + Send,
    ) -> Result<Secret> {
        if let Some(value) = self.setting(name).await? {
            return Ok(value);
        }
        let made = make();
        let mut transaction = self.writer().await?;
        sqlx::query("INSERT INTO settings (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING")
            .bind(name)
            .bind(made.reveal())
            .bind(micros(now))
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a setting"))?;
        let value = sqlx::query("SELECT value FROM settings WHERE name = $1")
            .bind(name)
            .fetch_one(&mut *transaction)
            .await
            .and_then(|row| row.try_get::<String, _>(0))
            .map_err(failed("reading a setting"))?;
        commit(transaction).await?;
        Ok(Secret::new(value))
    }
}
