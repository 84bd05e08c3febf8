//! Keeps the history of a host: who moved it from which state to which, and why.

use muster_api::host::HostStatus;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use sqlx::{Any, Transaction};

use crate::Result;
use crate::error::failed;
use crate::row::{Reading, row};
use crate::statement::new_id;
use crate::store::Store;
use crate::vault::Vault;

/// A change of a host's state, to be stored with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub at: Timestamp,
    /// Who caused it: `agent`, `user`, `deadline`, ...
    pub who: String,
    /// Name of the event that was applied.
    pub event: String,
    /// `None` at the first registration.
    pub from: Option<HostStatus>,
    pub to: HostStatus,
    /// For users.
    pub reason: String,
}

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

pub(super) async fn insert(
    transaction: &mut Transaction<'static, Any>,
    vault: &Vault,
    (infra_env_id, id): (InfraEnvId, HostId),
    version: i64,
    entry: &HistoryEntry,
) -> Result<()> {
    let row = HistoryRow {
        id: new_id(),
        host_id: id,
        infra_env_id,
        version,
        at: entry.at,
        who: entry.who.clone(),
        event: entry.event.clone(),
        from_status: entry.from,
        to_status: entry.to,
        reason: entry.reason.clone(),
    };
    let values = row.values(vault)?;
    let sql = values.insert();
    values
        .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
        .execute(&mut **transaction)
        .await
        .map_err(failed("storing a host's history"))?;
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
