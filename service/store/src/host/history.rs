//! Who moved a host from where to where, and why.

use muster_api::host::HostStatus;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use sqlx::{Any, Transaction};

use crate::Result;
use crate::change::new_id;
use crate::error::failed;
use crate::row::{Reading, micros, storable};
use crate::store::Store;

/// A change of a host's state, to be stored with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When.
    pub at: Timestamp,
    /// Who caused it: `agent`, `user`, `deadline`, ...
    pub who: String,
    /// What was heard.
    pub event: String,
    /// Where the host stood; `None` at its first registration.
    pub from: Option<HostStatus>,
    /// Where it stands now.
    pub to: HostStatus,
    /// For people.
    pub reason: String,
}

/// A stored change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRecord {
    /// The change.
    pub entry: HistoryEntry,
    /// The host's version after it.
    pub version: i64,
}

impl Store {
    /// All changes of state of a host, oldest first.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn host_history(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Vec<HistoryRecord>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT id, version, at, who, event, from_status, to_status, reason FROM host_history
             WHERE host_id = $1 AND infra_env_id = $2 ORDER BY version, id",
        )
        .bind(id.to_string())
        .bind(infra_env_id.to_string())
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("reading a host's history"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "host_history", &["id"]);
                Ok(HistoryRecord {
                    entry: HistoryEntry {
                        at: reading.moment("at")?,
                        who: reading.text("who")?,
                        event: reading.text("event")?,
                        from: reading.named_or_none("from_status")?,
                        to: reading.named("to_status")?,
                        reason: reading.text("reason")?,
                    },
                    version: reading.number("version")?,
                })
            })
            .collect()
    }
}

pub(super) async fn insert(
    transaction: &mut Transaction<'static, Any>,
    id: HostId,
    infra_env_id: InfraEnvId,
    version: i64,
    entry: &HistoryEntry,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO host_history (id, host_id, infra_env_id, version, at, who, event, from_status, to_status, reason)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(new_id())
    .bind(id.to_string())
    .bind(infra_env_id.to_string())
    .bind(version)
    .bind(micros(entry.at))
    .bind(storable(&entry.who))
    .bind(storable(&entry.event))
    .bind(entry.from.map(HostStatus::name))
    .bind(entry.to.name())
    .bind(storable(&entry.reason))
    .execute(&mut **transaction)
    .await
    .map_err(failed("storing a host's history"))?;
    Ok(())
}

pub(super) async fn forget(
    transaction: &mut Transaction<'static, Any>,
    id: &str,
    infra_env_id: &str,
) -> Result<()> {
    sqlx::query("DELETE FROM host_history WHERE host_id = $1 AND infra_env_id = $2")
        .bind(id)
        .bind(infra_env_id)
        .execute(&mut **transaction)
        .await
        .map_err(failed("forgetting an old history"))?;
    Ok(())
}
