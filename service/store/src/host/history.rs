//! Keeps the history of a host: each change of state, with its cause and reason.

use muster_api::host::HostStatus;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_sql::in_parts;
use sqlx::{Any, Transaction};

use super::change::{HistoryEntry, HostKey};
use crate::Result;
use crate::error::failed;
use crate::row::{Reading, row};
use crate::statement::{insert_rows, new_id};
use crate::store::Store;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRecord {
    pub entry: HistoryEntry,
    /// The host's version after it.
    pub version: i64,
}

row! {
    HistoryRow of "host_history" by [id] {
        id: String,
        host_id: HostId,
        infra_env_id: InfraEnvId,
        version: i64,
        at: Timestamp,
        who: String,
        event: String,
        from_status: Option<HostStatus>,
        to_status: HostStatus,
        reason: String,
    }
}

impl Store {
    /// The newest changes of state of a host, oldest first.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn host_history(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        limit: u32,
    ) -> Result<Vec<HistoryRecord>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM host_history WHERE host_id = $1 AND infra_env_id = $2 ORDER BY version DESC, id DESC LIMIT $3",
            HistoryRow::COLUMNS
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .bind(infra_env_id.to_string())
            .bind(i64::from(limit))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("reading a host's history"))?;
        rows.iter()
            .rev()
            .map(|row| {
                let row = HistoryRow::read(&Reading::new(row, HistoryRow::TABLE, &["id"]))?;
                Ok(HistoryRecord {
                    entry: HistoryEntry {
                        at: row.at,
                        who: row.who,
                        event: row.event,
                        from: row.from_status,
                        to: row.to_status,
                        reason: row.reason,
                    },
                    version: row.version,
                })
            })
            .collect()
    }
}

/// Stores entries, each with its host and the host's version after it.
pub(super) async fn insert(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    entries: &[(HostKey, i64, &HistoryEntry)],
) -> Result<()> {
    for part in in_parts(entries) {
        let rows = part.iter().map(|((infra_env_id, id), version, entry)| {
            let row = HistoryRow {
                id: new_id(),
                host_id: *id,
                infra_env_id: *infra_env_id,
                version: *version,
                at: entry.at,
                who: entry.who.clone(),
                event: entry.event.clone(),
                from_status: entry.from,
                to_status: entry.to,
                reason: entry.reason.clone(),
            };
            row.values(store.vault())
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let into = (HistoryRow::TABLE, HistoryRow::COLUMNS);
        insert_rows(transaction, store.kind(), into, rows, "storing a host's history").await?;
    }
    Ok(())
}

pub(super) async fn delete(
    transaction: &mut Transaction<'static, Any>,
    id: HostId,
    infra_env_id: InfraEnvId,
) -> Result<()> {
    sqlx::query("DELETE FROM host_history WHERE host_id = $1 AND infra_env_id = $2")
        .bind(id.to_string())
        .bind(infra_env_id.to_string())
        .execute(&mut **transaction)
        .await
        .map_err(failed("deleting an old history"))?;
    Ok(())
}
