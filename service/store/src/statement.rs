//! Parts of statements that several aggregates need.

use sqlx::{Any, Transaction};
use uuid::Uuid;

use crate::error::{StoreError, failed};
use crate::kind::Kind;

/// A new id that sorts after those made before it.
pub(crate) fn new_id() -> String {
    Uuid::now_v7().to_string()
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
