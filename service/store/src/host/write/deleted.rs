//! Makes room for deleted hosts that register again.

use std::collections::HashMap;

use muster_sql::{Kind, in_parts, push_tuples};
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::failed;
use crate::host::change::{HostKey, HostWrite};
use crate::host::history;
use crate::host::row::HOST_KEY;
use crate::row::Reading;

/// Removes the deleted records of these machines in the same InfraEnvs, with their history; returns their last versions.
pub(super) async fn remove(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    new: &[&HostWrite],
) -> Result<HashMap<HostKey, i64>> {
    let mut removed = HashMap::new();
    for key in known(transaction, kind, new).await? {
        if let Some(version) = remove_one(transaction, key).await? {
            removed.insert(key, version);
        }
    }
    Ok(removed)
}

/// The hosts with a deleted record. The row of a deleted host is removed after a long time, and a tombstone stays.
async fn known(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    new: &[&HostWrite],
) -> Result<Vec<HostKey>> {
    let mut known = Vec::new();
    for (from, living) in [("hosts", " AND deleted_at IS NOT NULL"), ("host_tombstones", "")] {
        for part in in_parts(new) {
            let mut sql = format!("SELECT id, infra_env_id FROM {from} WHERE id IN ");
            push_tuples(&mut sql, kind, 1, part.len());
            sql.push_str(living);
            let query = sqlx::query(sqlx::AssertSqlSafe(sql));
            let rows = part
                .iter()
                .fold(query, |query, write| query.bind(write.key.1.to_string()))
                .fetch_all(&mut **transaction)
                .await
                .map_err(failed("looking for hosts that come back"))?;
            for row in &rows {
                let reading = Reading::new(row, from, HOST_KEY);
                let key = (reading.get("infra_env_id")?, reading.get("id")?);
                // The same id may be in several InfraEnvs.
                if part.iter().any(|write| write.key == key) && !known.contains(&key) {
                    known.push(key);
                }
            }
        }
    }
    Ok(known)
}

async fn remove_one(
    transaction: &mut Transaction<'static, Any>,
    (infra_env_id, id): HostKey,
) -> Result<Option<i64>> {
    for sql in [
        "DELETE FROM hosts WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NOT NULL RETURNING version",
        "DELETE FROM host_tombstones WHERE id = $1 AND infra_env_id = $2 RETURNING version",
    ] {
        let row = sqlx::query(sql)
            .bind(id.to_string())
            .bind(infra_env_id.to_string())
            .fetch_optional(&mut **transaction)
            .await
            .map_err(failed("making room for a host that comes back"))?;
        if let Some(row) = row {
            history::delete(transaction, id, infra_env_id).await?;
            return row.try_get(0).map(Some).map_err(failed("reading a version"));
        }
    }
    Ok(None)
}
