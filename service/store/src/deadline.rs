//! Hosts that wait for a moment. Found through an index on `due_at`: nothing looks at the others.

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;

use crate::Result;
use crate::error::failed;
use crate::host::HOST_KEY;
use crate::row::{Reading, micros};
use crate::store::Store;

/// A host whose moment has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Where it is registered.
    pub infra_env_id: InfraEnvId,
    /// Which host.
    pub host_id: HostId,
    /// The moment.
    pub due_at: Timestamp,
}

impl Store {
    /// Hosts that were due at `now` or before, most overdue first, at most `limit`.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn due_hosts(&self, now: Timestamp, limit: u32) -> Result<Vec<Due>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT infra_env_id, id, due_at FROM hosts
             WHERE deleted_at IS NULL AND due_at IS NOT NULL AND due_at <= $1 ORDER BY due_at LIMIT $2",
        )
        .bind(micros(now))
        .bind(i64::from(limit))
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("looking for due hosts"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "hosts", &HOST_KEY);
                Ok(Due {
                    infra_env_id: reading.parsed("infra_env_id")?,
                    host_id: reading.parsed("id")?,
                    due_at: reading.moment("due_at")?,
                })
            })
            .collect()
    }

    /// When the next host is due; `None` while none waits for time.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn next_due(&self) -> Result<Option<Timestamp>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT infra_env_id, id, due_at FROM hosts
             WHERE deleted_at IS NULL AND due_at IS NOT NULL ORDER BY due_at LIMIT 1",
        )
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("looking for the next deadline"))?;
        row.map(|row| Reading::new(&row, "hosts", &HOST_KEY).moment("due_at"))
            .transpose()
    }
}
