//! Inserts events, unless too many of their name were stored lately.

use muster_core::record::NewEvent;
use sqlx::{Any, Transaction};

use super::row::EventRow;
use crate::Result;
use crate::error::failed;
use crate::row::{micros, storable};
use crate::statement::{commit, push_tuples};
use crate::store::Store;

impl Store {
    /// Stores events that belong to no change of a record.
    ///
    /// # Errors
    /// Those of the database; none is stored then.
    pub async fn insert_events(&self, events: &[NewEvent]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let mut transaction = self.writer().await?;
        insert(&mut transaction, self, events).await?;
        commit(transaction).await
    }
}

/// Rows in one `INSERT` of events: far below SQLite's 32766 and PostgreSQL's 65535 parameters.
const EVENTS_AT_ONCE: usize = 500;

pub(crate) async fn insert(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    events: &[NewEvent],
) -> Result<()> {
    let events = within_limits(transaction, store, events).await?;
    for chunk in events.chunks(EVENTS_AT_ONCE) {
        let mut rows = Vec::with_capacity(chunk.len());
        for event in chunk {
            rows.push(EventRow::of(event, store.request_id()).values()?);
        }
        let mut sql = format!("INSERT INTO events ({}) VALUES ", EventRow::COLUMNS);
        push_tuples(&mut sql, store.kind(), rows.len(), rows[0].len());
        let query = sqlx::query(sqlx::AssertSqlSafe(sql));
        rows.into_iter()
            .fold(query, |query, row| row.bind(query))
            .execute(&mut **transaction)
            .await
            .map_err(failed("storing events"))?;
    }
    Ok(())
}

/// The events whose name is not limited, or of which none was stored lately.
async fn within_limits<'a>(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    events: &'a [NewEvent],
) -> Result<Vec<&'a NewEvent>> {
    let mut kept: Vec<&NewEvent> = Vec::with_capacity(events.len());
    for event in events {
        if let Some(least) = store.event_limits().of(&event.name) {
            let duplicate = |other: &&NewEvent| {
                (&other.name, other.host_id, other.infra_env_id, other.cluster_id)
                    == (&event.name, event.host_id, event.infra_env_id, event.cluster_id)
            };
            let stored = sqlx::query(
                "SELECT id FROM events WHERE name = $1 AND at > $2 AND COALESCE(host_id, '') = $3
                     AND COALESCE(infra_env_id, '') = $4 AND COALESCE(cluster_id, '') = $5 LIMIT 1",
            )
            .bind(storable(&event.name))
            .bind(micros(event.at - least))
            .bind(event.host_id.map_or_else(String::new, |id| id.to_string()))
            .bind(event.infra_env_id.map_or_else(String::new, |id| id.to_string()))
            .bind(event.cluster_id.map_or_else(String::new, |id| id.to_string()))
            .fetch_optional(&mut **transaction)
            .await
            .map_err(failed("looking for the last event of a kind"))?;
            if stored.is_some() || kept.iter().any(duplicate) {
                continue;
            }
        }
        kept.push(event);
    }
    Ok(kept)
}
