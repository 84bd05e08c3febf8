//! Finds hosts with a deadline that has passed, through an index on `due_at`.

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::failed;
use crate::host::HOST_KEY;
use crate::row::{Reading, micros};
use crate::store::Store;

/// A host with a deadline that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    pub due_at: Timestamp,
}

/// Position at which a list of due hosts continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAfter {
    due_at: i64,
    infra_env_id: String,
    host_id: String,
}

impl Store {
    /// Hosts that were due at `now` or before, most overdue first, of at most `limit` rows; and the position at which the list
    /// continues, unless it ends here. A row whose key cannot be read is logged and skipped.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn due_hosts(
        &self,
        now: Timestamp,
        after: Option<&DueAfter>,
        limit: u32,
    ) -> Result<(Vec<Due>, Option<DueAfter>)> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT infra_env_id, id, due_at FROM hosts
             WHERE deleted_at IS NULL AND due_at IS NOT NULL AND due_at <= $1 AND due_at >= $2
                 AND (due_at > $2 OR infra_env_id > $3 OR (infra_env_id = $3 AND id > $4))
             ORDER BY due_at, infra_env_id, id LIMIT $5",
        )
        .bind(micros(now))
        .bind(after.map_or(i64::MIN, |after| after.due_at))
        .bind(after.map_or("", |after| &after.infra_env_id))
        .bind(after.map_or("", |after| &after.host_id))
        .bind(i64::from(limit))
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("looking for due hosts"))?;
        let more = u32::try_from(rows.len()).is_ok_and(|rows| rows >= limit);
        let last = rows.last().filter(|_| more).map(|row| -> Result<DueAfter> {
            let reading = Reading::new(row, "hosts", HOST_KEY);
            Ok(DueAfter {
                due_at: reading.get("due_at")?,
                infra_env_id: reading.get("infra_env_id")?,
                host_id: reading.get("id")?,
            })
        });
        let mut due = Vec::with_capacity(rows.len());
        for row in &rows {
            match due_from(row) {
                Ok(host) => due.push(host),
                Err(error) => tracing::error!(%error, "a deadline cannot be read; it is skipped"),
            }
        }
        Ok((due, last.transpose()?))
    }

    /// Time at which the next host is due; `None` while none has a deadline.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn next_due(&self) -> Result<Option<Timestamp>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT infra_env_id, id, due_at FROM hosts
             WHERE deleted_at IS NULL AND due_at IS NOT NULL ORDER BY due_at LIMIT 1",
        )
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("looking for the next deadline"))?;
        row.map(|row| Reading::new(&row, "hosts", HOST_KEY).get("due_at"))
            .transpose()
    }
}

fn due_from(row: &AnyRow) -> Result<Due> {
    let reading = Reading::new(row, "hosts", HOST_KEY);
    Ok(Due {
        infra_env_id: reading.get("infra_env_id")?,
        host_id: reading.get("id")?,
        due_at: reading.get("due_at")?,
    })
}
