//! Parts of statements that several aggregates need.

use muster_sql::{Kind, push_tuples};
use sqlx::{Any, Transaction};
use uuid::Uuid;

use crate::error::{StoreError, failed};
use crate::row::Values;

/// A new id that sorts after those made before it.
pub(crate) fn new_id() -> String {
    Uuid::now_v7().to_string()
}

pub(crate) async fn commit(transaction: Transaction<'static, Any>) -> Result<(), StoreError> {
    transaction.commit().await.map_err(failed("committing"))
}

/// Inserts rows of one table, at least one, in one statement; errors name `doing`.
pub(crate) async fn insert_rows(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    (table, columns): (&str, &str),
    rows: Vec<Values>,
    doing: &'static str,
) -> Result<(), StoreError> {
    let mut sql = format!("INSERT INTO {table} ({columns}) VALUES ");
    push_tuples(&mut sql, kind, rows.len(), rows[0].len());
    let query = sqlx::query(sqlx::AssertSqlSafe(sql));
    rows.into_iter()
        .fold(query, |query, row| row.bind(query))
        .execute(&mut **transaction)
        .await
        .map_err(failed(doing))?;
    Ok(())
}
