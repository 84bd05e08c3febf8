//! What is written beside every change of a record: its events and its place in the outbox.

use muster_api::time::Timestamp;
use muster_core::record::NewEvent;
use sqlx::{Any, Transaction};
use uuid::Uuid;

use crate::Result;
use crate::error::{StoreError, failed};
use crate::notify::PendingChanges;
use crate::outbox::Subject;
use crate::row::{document, micros, storable};
use crate::store::{Kind, Store};

/// A new id that sorts after those made before it.
pub(crate) fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// Rows in one `INSERT` of events: far below SQLite's 32766 and PostgreSQL's 65535 parameters.
const EVENTS_AT_ONCE: usize = 500;

pub(crate) async fn insert_events(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    events: &[NewEvent],
) -> Result<()> {
    let events = within_limits(transaction, store, events).await?;
    for chunk in events.chunks(EVENTS_AT_ONCE) {
        let mut sql = String::from(
            "INSERT INTO events (id, at, name, severity, category, message, props, host_id, infra_env_id, cluster_id, request_id) VALUES ",
        );
        push_tuples(&mut sql, store.kind(), chunk.len(), 11);
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        for event in chunk {
            let props = if event.props.is_empty() {
                None
            } else {
                Some(document("events", "props", &event.props)?)
            };
            query = query
                .bind(new_id())
                .bind(micros(event.at))
                .bind(storable(&event.name))
                .bind(event.severity.name())
                .bind(event.category.name())
                .bind(storable(&event.message))
                .bind(props)
                .bind(event.host_id.map(|id| id.to_string()))
                .bind(event.infra_env_id.map(|id| id.to_string()))
                .bind(event.cluster_id.map(|id| id.to_string()))
                .bind(store.request_id());
        }
        query
            .execute(&mut **transaction)
            .await
            .map_err(failed("storing events"))?;
    }
    Ok(())
}

/// Those whose name is not limited, or of which none was stored lately.
async fn within_limits<'a>(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    events: &'a [NewEvent],
) -> Result<Vec<&'a NewEvent>> {
    let mut kept: Vec<&NewEvent> = Vec::with_capacity(events.len());
    for event in events {
        if let Some(least) = store.event_limits().of(&event.name) {
            let twin = |other: &&NewEvent| {
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
            if stored.is_some() || kept.iter().any(twin) {
                continue;
            }
        }
        kept.push(event);
    }
    Ok(kept)
}

/// A change of a record, beside its row.
pub(crate) struct Change<'a> {
    pub(crate) subject: Subject,
    /// The record's version after the change.
    pub(crate) version: i64,
    pub(crate) at: Timestamp,
    pub(crate) events: &'a [NewEvent],
}

/// Writes the events of a change, and its row in the outbox.
pub(crate) async fn write_change(
    transaction: &mut Transaction<'static, Any>,
    pending: &mut PendingChanges,
    store: &Store,
    change: &Change<'_>,
) -> Result<()> {
    insert_events(transaction, store, change.events).await?;
    note_change(transaction, pending, change.subject, change.version, change.at).await
}

/// Ends a transaction that changed one record.
pub(crate) async fn commit_change(
    mut transaction: Transaction<'static, Any>,
    store: &Store,
    change: Change<'_>,
) -> Result<()> {
    let mut pending = PendingChanges::default();
    write_change(&mut transaction, &mut pending, store, &change).await?;
    pending.commit(transaction, store).await
}

/// Where PostgreSQL tells all replicas what changes, after the commit.
pub(crate) const CHANNEL: &str = "muster_changes";

/// Notes that `subject` has a new version. A claim on an older one is void: the record must be looked at once more.
pub(crate) async fn note_change(
    transaction: &mut Transaction<'static, Any>,
    pending: &mut PendingChanges,
    subject: Subject,
    version: i64,
    at: Timestamp,
) -> Result<()> {
    let (kind, key) = subject.columns();
    let told = transaction.backend_name() == "PostgreSQL";
    let telling = if told {
        " RETURNING CAST(pg_notify($6, $7) AS TEXT)"
    } else {
        ""
    };
    let sql = format!(
        "INSERT INTO outbox (kind, key, id, version, created_at, claimed_until) VALUES ($1, $2, $3, $4, $5, 0)
         ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, version = excluded.version, claimed_until = 0{telling}"
    );
    let text = format!("{kind} {key} {version}");
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(kind)
        .bind(key)
        .bind(new_id())
        .bind(version)
        .bind(micros(at));
    if told {
        query = query.bind(CHANNEL).bind(text);
    }
    query
        .execute(&mut **transaction)
        .await
        .map_err(failed("noting a change in the outbox"))?;
    pending.add(subject, version);
    Ok(())
}

pub(crate) async fn commit(transaction: Transaction<'static, Any>) -> Result<(), StoreError> {
    transaction.commit().await.map_err(failed("committing"))
}

/// `($1, $2), ($3, $4)`: `rows` tuples of `columns` parameters, which are all that the statement has.
///
/// For SQLite `(?, ?), (?, ?)`: it takes `$1` for a name and searches all names for each, and 6000 of them add up.
pub(crate) fn push_tuples(sql: &mut String, kind: Kind, rows: usize, columns: usize) {
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            if column > 0 {
                sql.push_str(", ");
            }
            match kind {
                Kind::Sqlite => sql.push('?'),
                Kind::Postgres => sql.push_str(&format!("${}", row * columns + column + 1)),
            }
        }
        sql.push(')');
    }
}
