//! Deletes records whose rows stay: locks the row, counts the hosts that hold the record, marks it as deleted.

use std::fmt::Display;

use muster_api::time::Timestamp;
use muster_sql::Kind;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::failed;
use crate::row::micros;

/// Locks a living record; returns its version, or `None` when there is none.
pub(crate) async fn lock(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    table: &'static str,
    id: impl Display,
) -> Result<Option<i64>> {
    let locking = kind.locking();
    let sql = format!("SELECT version FROM {table} WHERE id = $1 AND deleted_at IS NULL{locking}");
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(id.to_string())
        .fetch_optional(&mut **transaction)
        .await
        .and_then(|row| row.map(|row| row.try_get(0)).transpose())
        .map_err(failed("looking for a record to delete"))
}

/// Number of living hosts that meet `condition` on `id`, which is `$1`.
pub(crate) async fn count_hosts(
    transaction: &mut Transaction<'static, Any>,
    condition: &str,
    id: impl Display,
) -> Result<i64> {
    let sql = format!("SELECT COUNT(*) FROM hosts WHERE {condition} AND deleted_at IS NULL");
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(id.to_string())
        .fetch_one(&mut **transaction)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(failed("counting the hosts of a record to delete"))
}

/// Marks a locked record as deleted; `version` is its new one. `left`: the column of its document, and what is left of it. Secrets end
/// with what they belonged to.
pub(crate) async fn mark(
    transaction: &mut Transaction<'static, Any>,
    table: &'static str,
    id: impl Display,
    version: i64,
    at: Timestamp,
    left: (&'static str, String),
) -> Result<()> {
    let (column, document) = left;
    let sql = format!("UPDATE {table} SET deleted_at = $2, version = $3, {column} = $4 WHERE id = $1");
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(id.to_string())
        .bind(micros(at))
        .bind(version)
        .bind(document)
        .execute(&mut **transaction)
        .await
        .map_err(failed("deleting a record"))?;
    Ok(())
}
