//! Queue of changed records, for tasks that handle changes after the commit. Safe with several takers in several replicas.

use std::time::Duration;

use muster_api::time::Timestamp;
use muster_sql::push_tuples;
use sqlx::any::AnyRow;

use super::subject::Subject;
use crate::Result;
use crate::error::{StoreError, failed};
use crate::row::{Reading, micros};
use crate::statement::commit;
use crate::store::Store;

/// Selection of the changes that are taken from the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxScope {
    All,
    /// InfraEnvs and clusters: changes of hosts and BMCs are for the replica that runs the controllers.
    NotHosts,
}

impl OutboxScope {
    fn condition(self) -> &'static str {
        match self {
            Self::All => "",
            // As a list, so that the primary key finds them among many hosts.
            Self::NotHosts => " AND kind IN ('infra_env', 'cluster')",
        }
    }
}

/// A change that has not been handled yet. Several changes of one record are one entry, with the newest version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// For [`Store::acknowledge`].
    pub id: String,
    /// The record; it may be deleted by now.
    pub subject: Subject,
    pub version: i64,
    /// Time of the oldest change that is not acknowledged.
    pub created_at: Timestamp,
}

impl Store {
    /// Claims up to `limit` changes, oldest first, for the duration of `claim`: no other caller gets them before that time has passed. A
    /// record that changes while it is claimed can be claimed again. An unreadable entry is logged, stays claimed for that long, and holds
    /// up no other.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn take_from_outbox(
        &self,
        now: Timestamp,
        claim: Duration,
        limit: u32,
        scope: OutboxScope,
    ) -> Result<Vec<OutboxEntry>> {
        let until = micros(now).saturating_add(i64::try_from(claim.as_micros()).unwrap_or(i64::MAX));
        let sql = format!(
            "UPDATE outbox SET claimed_until = $1 WHERE id IN \
             (SELECT id FROM outbox WHERE claimed_until <= $2{} ORDER BY created_at, id LIMIT $3{}) \
             RETURNING id, kind, key, version, created_at",
            scope.condition(),
            self.kind().skipping()
        );
        let mut transaction = self.writer().await?;
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(until)
            .bind(micros(now))
            .bind(i64::from(limit))
            .fetch_all(&mut *transaction)
            .await
            .map_err(failed("taking from the outbox"))?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            match entry_from(row) {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    tracing::error!(%error, "a change in the outbox cannot be read; it is skipped")
                }
            }
        }
        commit(transaction).await?;
        entries.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(entries)
    }

    /// Prolongs claims to last for `claim` from now. Claims of records that changed since are not prolonged.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn renew_claims(&self, ids: &[String], now: Timestamp, claim: Duration) -> Result<()> {
        let until = micros(now).saturating_add(i64::try_from(claim.as_micros()).unwrap_or(i64::MAX));
        let mut transaction = self.writer().await?;
        for id in ids {
            sqlx::query("UPDATE outbox SET claimed_until = $2 WHERE id = $1 AND claimed_until > 0")
                .bind(id)
                .bind(until)
                .execute(&mut *transaction)
                .await
                .map_err(failed("prolonging a claim"))?;
        }
        commit(transaction).await
    }

    /// True when [`Self::take_from_outbox`] would return anything. Writes nothing.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn outbox_waits(&self, now: Timestamp, scope: OutboxScope) -> Result<bool> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT id FROM outbox WHERE claimed_until <= $1{} LIMIT 1",
            scope.condition()
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(micros(now))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("looking into the outbox"))?;
        Ok(row.is_some())
    }

    /// Number of the changes that are not acknowledged, and the time of the oldest.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn outbox_backlog(&self) -> Result<(i64, Option<Timestamp>)> {
        let mut connection = self.reader().await?;
        let row = sqlx::query("SELECT COUNT(*) AS waiting, MIN(created_at) AS oldest FROM outbox")
            .fetch_one(&mut *connection)
            .await
            .map_err(failed("counting changes in the outbox"))?;
        let reading = Reading::new(&row, "outbox", &[]);
        Ok((reading.get("waiting")?, reading.get("oldest")?))
    }

    /// Removes handled changes; returns how many. An entry stays if its record has changed since it was taken, or is being changed: it will
    /// be claimed again.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn acknowledge(&self, ids: &[String]) -> Result<u64> {
        let mut removed = 0;
        for chunk in ids.chunks(1000) {
            // Writers hold rows of several records at a time, so waiting for one of them could last for ever.
            let mut sql = String::from("DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE id IN ");
            push_tuples(&mut sql, self.kind(), 1, chunk.len());
            sql.push_str(self.kind().skipping());
            sql.push(')');
            let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(false);
            for id in chunk {
                query = query.bind(id);
            }
            let mut transaction = self.writer().await?;
            removed += query
                .execute(&mut *transaction)
                .await
                .map_err(failed("acknowledging changes"))?
                .rows_affected();
            commit(transaction).await?;
        }
        Ok(removed)
    }
}

fn entry_from(row: &AnyRow) -> Result<OutboxEntry> {
    let reading = Reading::new(row, "outbox", &["kind", "key"]);
    let (kind, key): (String, String) = (reading.get("kind")?, reading.get("key")?);
    let subject = Subject::from_columns(&kind, &key).ok_or_else(|| StoreError::Corrupt {
        table: "outbox",
        id: format!("{kind}/{key}"),
        column: "key",
        reason: "unknown kind, or not a key of it".into(),
    })?;
    Ok(OutboxEntry {
        id: reading.get("id")?,
        subject,
        version: reading.get("version")?,
        created_at: reading.get("created_at")?,
    })
}
