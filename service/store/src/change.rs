//! Writes what belongs to every change of a record: its events and its row in the outbox.

use muster_api::time::Timestamp;
use muster_core::record::NewEvent;
use sqlx::{Any, Transaction};

use crate::Result;
use crate::error::failed;
use crate::event;
use crate::notify::PendingChanges;
use crate::row::micros;
use crate::statement::new_id;
use crate::store::Store;
use crate::subject::Subject;

/// A change of a record whose row is written already.
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
    event::insert(transaction, store, change.events).await?;
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

/// PostgreSQL's notification channel on which replicas receive changes after the commit.
pub(crate) const CHANNEL: &str = "muster_changes";

/// Writes to the outbox that `subject` has a new version, and notifies other replicas. A claim on an older version is void: the
/// change must be handled again.
pub(crate) async fn note_change(
    transaction: &mut Transaction<'static, Any>,
    pending: &mut PendingChanges,
    subject: Subject,
    version: i64,
    at: Timestamp,
) -> Result<()> {
    let (kind, key) = subject.columns();
    let notifies = transaction.backend_name() == "PostgreSQL";
    let returning = if notifies {
        " RETURNING CAST(pg_notify($6, $7) AS TEXT)"
    } else {
        ""
    };
    let sql = format!(
        "INSERT INTO outbox (kind, key, id, version, created_at, claimed_until) VALUES ($1, $2, $3, $4, $5, 0)
         ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, version = excluded.version, claimed_until = 0{returning}"
    );
    let text = format!("{kind} {key} {version}");
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(kind)
        .bind(key)
        .bind(new_id())
        .bind(version)
        .bind(micros(at));
    if notifies {
        query = query.bind(CHANNEL).bind(text);
    }
    query
        .execute(&mut **transaction)
        .await
        .map_err(failed("noting a change in the outbox"))?;
    pending.add(subject, version);
    Ok(())
}
