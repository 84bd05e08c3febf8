//! Seals values again that are stored plain or under an older key, without changing a record: versions stay, and a concurrent write wins.

use muster_sql::Kind;
use sqlx::Row as _;
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::failed;
use crate::statement::commit;
use crate::store::Store;
use crate::vault::{PREFIX, Place, SEALED, SealedColumn};

/// A file of more bytes is not rewritten while it is in use: writes wait for that.
const REWRITTEN_BELOW: i64 = 1 << 30;

/// A value in another form than a write would store now.
#[derive(Debug, Clone)]
pub struct StaleValue {
    of: usize,
    key: Vec<String>,
}

impl StaleValue {
    fn column(&self) -> &'static SealedColumn {
        &SEALED[self.of]
    }
}

/// Numbers of values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Values that were sealed again.
    pub done: u64,
    /// Of these, values that had been plain.
    pub plain: u64,
    /// Those that cannot be opened, and stay.
    pub unreadable: u64,
}

impl std::ops::AddAssign for Resealed {
    fn add_assign(&mut self, other: Self) {
        self.done += other.done;
        self.plain += other.plain;
        self.unreadable += other.unreadable;
    }
}

impl Store {
    /// The values in another form than a write would store now. Empty without keys.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn stale_values(&self) -> Result<Vec<StaleValue>> {
        if !self.vault().has_keys() {
            return Ok(Vec::new());
        }
        let mut stale = Vec::new();
        for (of, sealed) in SEALED.iter().enumerate() {
            let SealedColumn {
                table,
                column,
                key,
                condition,
                ..
            } = sealed;
            let key: Vec<String> = key.iter().map(|part| format!("CAST({part} AS TEXT)")).collect();
            // '{}' is a deleted record, without a secret.
            let (prefix, is_stale) = match self.vault().current_prefix() {
                Some(prefix) => (prefix, "<> $1"),
                None => (PREFIX.to_owned(), "= $1"),
            };
            let sql = format!(
                "SELECT {} FROM {table} WHERE {} AND {column} <> '{{}}' AND substr({column}, 1, {}) {is_stale}",
                key.join(", "),
                condition(),
                prefix.len()
            );
            let mut connection = self.reader().await?;
            let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
                .bind(prefix)
                .fetch_all(&mut *connection)
                .await
                .map_err(failed("looking for values that are to be encrypted"))?;
            for row in &rows {
                let key = key_of(row, key.len()).map_err(failed("reading the key of a row"))?;
                stale.push(StaleValue { of, key });
            }
        }
        Ok(stale)
    }

    /// Stores these values in the current form, in one transaction.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn reseal(&self, values: &[StaleValue]) -> Result<Resealed> {
        let mut resealed = Resealed::default();
        let mut transaction = self.writer().await?;
        for value in values {
            let SealedColumn {
                table, column, row, ..
            } = value.column();
            let bound = |sql: String| {
                let query = sqlx::query(sqlx::AssertSqlSafe(sql));
                value
                    .key
                    .iter()
                    .fold(query, |query, part| query.bind(part.clone()))
            };
            let found = bound(format!("SELECT {column} FROM {table} WHERE {row}"))
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failed("reading a value that is to be encrypted"))?;
            let stored: Option<String> = found
                .and_then(|found| found.try_get(0).transpose())
                .transpose()
                .map_err(failed("reading a value that is to be encrypted"))?;
            let Some(stored) = stored else { continue };
            let id = value.key.join("/");
            let place = Place {
                table,
                column,
                id: &id,
            };
            let was_plain = !stored.starts_with(PREFIX);
            let text = match self.vault().open(&place, stored.clone()) {
                Ok(text) => text,
                Err(reason) => {
                    tracing::error!(table, id, column, %reason, "a value stays as it is");
                    resealed.unreadable += 1;
                    continue;
                }
            };
            let sealed = self.vault().seal(&place, text)?;
            let (new, old) = (value.key.len() + 1, value.key.len() + 2);
            let sql = format!("UPDATE {table} SET {column} = ${new} WHERE {row} AND {column} = ${old}");
            let updated = bound(sql)
                .bind(sealed)
                .bind(stored)
                .execute(&mut *transaction)
                .await
                .map_err(failed("encrypting a value"))?;
            resealed.done += updated.rows_affected();
            resealed.plain += u64::from(was_plain);
        }
        commit(transaction).await?;
        Ok(resealed)
    }

    /// Completes [`Store::reseal`] after all values: removes keys that are not in use any more, and erases plain values from SQLite's file.
    /// Returns false when the file is too large for that.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn finish_resealing(&self, resealed: Resealed) -> Result<bool> {
        if resealed.unreadable == 0 {
            self.forget_other_keys().await?;
        }
        if self.kind() == Kind::Postgres || resealed.plain == 0 {
            return Ok(true);
        }
        let (bytes, _) = self.sizes().await?;
        if bytes > REWRITTEN_BELOW {
            return Ok(false);
        }
        let (_, writers) = self.pools();
        let mut connection = writers
            .acquire()
            .await
            .map_err(failed("waiting for a connection"))?;
        // Pages that were freed before the file was opened with a key still hold their content.
        for sql in ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"] {
            sqlx::raw_sql(sql)
                .execute(&mut *connection)
                .await
                .map_err(failed("erasing what was plain"))?;
        }
        Ok(true)
    }
}

fn key_of(row: &AnyRow, parts: usize) -> sqlx::Result<Vec<String>> {
    (0..parts).map(|part| row.try_get(part)).collect()
}
