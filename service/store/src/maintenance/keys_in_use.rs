//! Checks, when a database is opened, that all keys are present with which its values are sealed.
//!
//! For each such key the settings hold a check value, named by the key's id and sealed with it. It is written before the first value is,
//! and deleted when no value is left.

use sqlx::Row as _;

use crate::Result;
use crate::error::{StoreError, failed};
use crate::settings::{insert_if_absent, place};
use crate::statement::commit;
use crate::store::Store;
use crate::vault::CHECK;

/// The text in check values.
const TEXT: &str = "muster";

impl Store {
    /// Checks that the keys of this store open the values of the database, and records that the first one is in use.
    ///
    /// # Errors
    /// `Locked` when a key is missing.
    pub(crate) async fn check_keys(&self) -> Result<()> {
        let vault = self.vault();
        let in_use = self.checks().await?;
        for (name, value) in &in_use {
            let id = name.trim_start_matches(CHECK);
            let locked = |reason: String| Err(StoreError::Locked { reason });
            if !vault.has_keys() {
                return locked(format!(
                    "secrets in it are encrypted by the key {id}: give the file that holds it by --secrets-key"
                ));
            }
            if !vault.holds(id) {
                return locked(format!(
                    "secrets in it are encrypted by the key {id}, and the file of --secrets-key holds others only: add the one that is missing"
                ));
            }
            match vault.open(&place(name), value.clone()) {
                Ok(text) if text == TEXT && text != *value => {}
                Ok(_) => return locked(format!("the check value of the key {id} is none")),
                Err(reason) => return locked(format!("the check value of the key {id}: {reason}")),
            }
        }
        let Some(key) = vault.key_id() else {
            return Ok(());
        };
        let name = format!("{CHECK}{key}");
        if in_use.iter().any(|(known, _)| *known == name) {
            return Ok(());
        }
        let value = vault.seal(&place(&name), TEXT.to_owned())?;
        let mut transaction = self.writer().await?;
        insert_if_absent(
            &mut transaction,
            &name,
            value,
            std::time::SystemTime::now().into(),
        )
        .await?;
        commit(transaction).await
    }

    /// Deletes the check values of keys that no value is sealed with any more: all but the first, or all when values are plain now.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(crate) async fn forget_other_keys(&self) -> Result<()> {
        let current = self.vault().key_id().map(|key| format!("{CHECK}{key}"));
        let others = self.checks().await?.into_iter().map(|(name, _)| name);
        let others: Vec<String> = others.filter(|name| Some(name) != current.as_ref()).collect();
        if others.is_empty() {
            return Ok(());
        }
        let mut transaction = self.writer().await?;
        for name in others {
            sqlx::query("DELETE FROM settings WHERE name = $1")
                .bind(name)
                .execute(&mut *transaction)
                .await
                .map_err(failed("forgetting a key"))?;
        }
        commit(transaction).await
    }

    /// Name and value of each check value.
    async fn checks(&self) -> Result<Vec<(String, String)>> {
        let doing = "reading the check values of keys";
        let mut connection = self.reader().await?;
        let rows = sqlx::query("SELECT name, value FROM settings WHERE name LIKE $1 ORDER BY name")
            .bind(format!("{CHECK}%"))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed(doing))?;
        let read = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        read.collect::<sqlx::Result<_>>().map_err(failed(doing))
    }
}
