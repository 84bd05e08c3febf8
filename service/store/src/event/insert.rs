//! Inserts events, unless too many of their name were stored lately.

use muster_api::time::Timestamp;
use muster_core::record::{EventLimits, NewEvent};
use muster_sql::in_parts;
use sqlx::{Any, Transaction};

use super::recent::{EventKey, Limit};
use super::row::EventRow;
use crate::Result;
use crate::error::failed;
use crate::row::{Reading, micros, storable};
use crate::statement::{commit, insert_rows};
use crate::store::Store;

impl Store {
    /// Stores events that belong to no change of a record.
    ///
    /// # Errors
    /// Fails if the database does; none is stored then.
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

/// An event with the context of the store that writes it.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) event: &'a NewEvent,
    /// The id of the request that causes the change.
    pub(crate) request_id: Option<&'a str>,
    pub(crate) limits: &'a EventLimits,
}

/// Writes the events of one change.
pub(crate) async fn insert(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    events: &[NewEvent],
) -> Result<()> {
    let request_id = store.request_id();
    let told = events.iter().map(|event| Told {
        event,
        request_id: request_id.as_deref(),
        limits: store.event_limits(),
    });
    insert_told(transaction, store, &told.collect::<Vec<_>>()).await
}

/// Writes events of several changes.
pub(crate) async fn insert_told(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    told: &[Told<'_>],
) -> Result<()> {
    let told = within_limits(transaction, store, told).await?;
    for part in in_parts(&told) {
        let mut rows = Vec::with_capacity(part.len());
        for told in part {
            let request_id = told.request_id.map(str::to_owned);
            rows.push(EventRow::of(told.event, request_id).values(store.vault())?);
        }
        let into = (EventRow::TABLE, EventRow::COLUMNS);
        insert_rows(transaction, store.kind(), into, rows, "storing events").await?;
    }
    Ok(())
}

/// The events with an unlimited name, and those that were not stored within their limit.
async fn within_limits<'a>(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    events: &[Told<'a>],
) -> Result<Vec<Told<'a>>> {
    let mut kept: Vec<Told<'a>> = Vec::with_capacity(events.len());
    for told in events {
        let event = told.event;
        if let Some(least) = told.limits.of(&event.name) {
            let duplicate = |other: &Told<'_>| EventKey::of(other.event) == EventKey::of(event);
            if kept.iter().any(duplicate) || store.stored_events().is_too_soon(event, least) {
                continue;
            }
            if let Some(at) = last_stored(transaction, event, least).await? {
                store.stored_events().note(event, at);
                continue;
            }
        }
        kept.push(*told);
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
