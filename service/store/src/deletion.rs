//! Deletes records whose rows stay: locks the row, counts the hosts that hold the record, marks it as deleted; and revives them.

use std::fmt::Display;

use muster_api::time::Timestamp;
use muster_sql::Kind;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::{failed, is_unique_violation};
use crate::row::micros;

/// Selects the record of a custom resource (namespace `$1`, name `$2`) that was deleted last; a mirror's is none.
pub(crate) const LAST_OF_RESOURCE: &str = "WHERE kube_namespace = $1 AND kube_name = $2 AND mirror IS NULL AND deleted_at IS NOT NULL ORDER BY deleted_at DESC LIMIT 1";

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

/// Number of hosts that are not deleted and meet `condition` on `id`, which is `$1`.
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

/// Marks a locked record as deleted; `version` is its new one. `left`: the column of its document, and the remaining document. The secrets
/// of a record are deleted with it.
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

/// Takes the mark away again. False: the record is not deleted, or is another version, or its custom resource has another.
pub(crate) async fn unmark(
    transaction: &mut Transaction<'static, Any>,
    table: &'static str,
    id: impl Display,
    version: i64,
) -> Result<bool> {
    let sql = format!(
        "UPDATE {table} SET deleted_at = NULL WHERE id = $1 AND version = $2 AND deleted_at IS NOT NULL"
    );
    let revived = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(id.to_string())
        .bind(version)
        .execute(&mut **transaction)
        .await;
    match revived {
        Ok(done) => Ok(done.rows_affected() == 1),
        Err(error) if is_unique_violation(&error) => Ok(false),
        Err(error) => Err(failed("reviving a record")(error)),
    }
}
