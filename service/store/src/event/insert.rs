//! Inserts events, unless too many of their name were stored lately.

use muster_api::time::Timestamp;
use muster_core::record::NewEvent;
use sqlx::{Any, Transaction};

use super::recent::{EventKey, Limit};
use super::row::EventRow;
use crate::Result;
use crate::error::failed;
use crate::row::{Reading, micros, storable};
use crate::statement::{commit, push_tuples};
use crate::store::Store;

impl Store {
    /// Stores events that belong to no change of a record.
    ///
    /// # Errors
    /// Those of the database; none is stored then.
    pub async fn insert_events(&self, events: &[NewEvent]) -> Result<()> {
        let too_soon = |event: &NewEvent| {
            let least = self.event_limits().of(&event.name);
            least.is_some_and(|least| self.stored_events().is_too_soon(event, least))
        };
        if events.iter().all(too_soon) {
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
            rows.push(EventRow::of(event, store.request_id()).values(store.vault())?);
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
            let duplicate = |other: &&NewEvent| EventKey::of(other) == EventKey::of(event);
            if kept.iter().any(duplicate) || store.stored_events().is_too_soon(event, least) {
                continue;
            }
            if let Some(at) = last_stored(transaction, event, least).await? {
                store.stored_events().note(event, at);
                continue;
            }
        }
        kept.push(event);
    }
    Ok(kept)
}

/// Time at which the last event of the same name about the same things was stored, if that was less than `least` ago.
async fn last_stored(
    transaction: &mut Transaction<'static, Any>,
    event: &NewEvent,
    least: Limit,
) -> Result<Option<Timestamp>> {
    let ids = [
        ("host_id", event.host_id.map(|id| id.to_string())),
        ("infra_env_id", event.infra_env_id.map(|id| id.to_string())),
        ("cluster_id", event.cluster_id.map(|id| id.to_string())),
    ];
    let mut sql = String::from("SELECT at FROM events WHERE name = $1 AND at > $2");
    let mut number = 2;
    for (column, id) in &ids {
        // No `COALESCE`: the index is by the columns.
        if id.is_some() {
            number += 1;
            sql.push_str(&format!(" AND {column} = ${number}"));
        } else {
            sql.push_str(&format!(" AND {column} IS NULL"));
        }
    }
    sql.push_str(" ORDER BY at DESC LIMIT 1");
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(storable(&event.name))
        .bind(micros(event.at - least));
    for (_, id) in ids {
        if let Some(id) = id {
            query = query.bind(id);
        }
    }
    let row = query
        .fetch_optional(&mut **transaction)
        .await
        .map_err(failed("looking for the last event of a kind"))?;
    row.map(|row| Reading::new(&row, "events", &[]).get("at"))
        .transpose()
}
