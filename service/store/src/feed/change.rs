//! Writes what belongs to every change of a record: its events and its row in the outbox.

use muster_api::time::Timestamp;
use muster_core::record::NewEvent;
use muster_sql::{Kind, in_parts, push_tuples};
use sqlx::{Any, Transaction};

use super::notify::PendingChanges;
use super::subject::Subject;
use crate::Result;
use crate::error::failed;
use crate::event;
use crate::row::micros;
use crate::statement::new_id;
use crate::store::Store;

/// A change of a record. The record's row is written already.
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
    note_changes(transaction, pending, &[(subject, version, at)]).await
}

/// [`note_change`] for several records, each once.
pub(crate) async fn note_changes(
    transaction: &mut Transaction<'static, Any>,
    pending: &mut PendingChanges,
    changes: &[(Subject, i64, Timestamp)],
) -> Result<()> {
    let kind = match transaction.backend_name() {
        "PostgreSQL" => Kind::Postgres,
        _ => Kind::Sqlite,
    };
    for part in in_parts(changes) {
        let mut sql =
            String::from("INSERT INTO outbox (kind, key, id, version, created_at, claimed_until) VALUES ");
        push_tuples(&mut sql, kind, part.len(), 6);
        sql.push_str(
            " ON CONFLICT (kind, key) DO UPDATE SET id = excluded.id, version = excluded.version, claimed_until = 0",
        );
        if kind == Kind::Postgres {
            sql.push_str(&format!(
                " RETURNING CAST(pg_notify('{CHANNEL}', kind || ' ' || key || ' ' || version) AS TEXT)"
            ));
        }
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        for (subject, version, at) in part {
            let (kind, key) = subject.columns();
            query = query
                .bind(kind)
                .bind(key)
                .bind(new_id())
                .bind(*version)
                .bind(micros(*at))
                .bind(0_i64);
        }
        query
            .execute(&mut **transaction)
            .await
            .map_err(failed("noting changes in the outbox"))?;
        for (subject, version, _) in part {
            pending.add(*subject, *version);
        }
    }
    Ok(())
}

/// Notifies of a change that nobody has to handle: it is not in the outbox, and lost for replicas that do not listen at that moment.
pub(crate) async fn announce(
    transaction: &mut Transaction<'static, Any>,
    pending: &mut PendingChanges,
    subject: Subject,
) -> Result<()> {
    if transaction.backend_name() == "PostgreSQL" {
        let (kind, key) = subject.columns();
        sqlx::query("SELECT CAST(pg_notify($1, $2) AS TEXT)")
            .bind(CHANNEL)
            .bind(format!("{kind} {key} 0"))
            .execute(&mut **transaction)
            .await
            .map_err(failed("notifying of a change"))?;
    }
    pending.add(subject, 0);
    Ok(())
}
