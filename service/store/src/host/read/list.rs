//! Reads lists of hosts a few at a time, so that a list of any length needs the memory of few hosts.

use std::collections::HashMap;

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::record::Host;
use sqlx::Row;

use super::rows::{Selection, rows_of_ids};
use crate::Result;
use crate::error::failed;
use crate::host::brief::HostBrief;
use crate::host::change::HostKey;
use crate::host::form::HostForm;
use crate::host::found_row::FoundRow;
use crate::host::row::{HOST_KEY, brief_from};
use crate::row::{Reading, or_pass_over};
use crate::store::Store;

impl Store {
    /// The keys of the hosts of an InfraEnv, oldest first.
    ///
    /// # Errors
    /// `Corrupt` when a key cannot be read.
    pub async fn list_host_keys(&self, infra_env_id: InfraEnvId) -> Result<Vec<HostKey>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT infra_env_id, id FROM hosts WHERE infra_env_id = $1 AND deleted_at IS NULL ORDER BY created_at, id",
        )
        .bind(infra_env_id.to_string())
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("listing the keys of hosts"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "hosts", HOST_KEY);
                Ok((reading.get("infra_env_id")?, reading.get("id")?))
            })
            .collect()
    }

    /// The keys of the hosts of a cluster, oldest first.
    ///
    /// # Errors
    /// `Corrupt` when a key cannot be read.
    pub async fn list_cluster_host_keys(&self, id: ClusterId) -> Result<Vec<HostKey>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT infra_env_id, id FROM hosts WHERE cluster_id = $1 AND deleted_at IS NULL ORDER BY created_at, id",
        )
        .bind(id.to_string())
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("listing the hosts of a cluster"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "hosts", HOST_KEY);
                Ok((reading.get("infra_env_id")?, reading.get("id")?))
            })
            .collect()
    }

    /// These hosts, in this order; those that are deleted meanwhile, or that cannot be read, are left out.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn read_hosts(&self, keys: &[HostKey], form: HostForm) -> Result<Vec<Host>> {
        let read = |found: &FoundRow| match form {
            HostForm::Whole => self.host_from(found),
            HostForm::Brief => brief_from(self.vault(), &found.row).map(HostBrief::into_host),
        };
        self.read_keys(keys, self.selection(form), read, |host| {
            (host.infra_env_id, host.id)
        })
        .await
    }

    /// Reads these hosts by `read`, in their order.
    pub(super) async fn read_keys<T>(
        &self,
        keys: &[HostKey],
        selection: Selection<'_>,
        read: impl Fn(&FoundRow) -> Result<T>,
        key: impl Fn(&T) -> HostKey,
    ) -> Result<Vec<T>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<HostId> = keys.iter().map(|(_, id)| *id).collect();
        let mut connection = self.reader().await?;
        let rows = rows_of_ids(&mut connection, self.kind(), &ids, selection).await;
        drop(connection);
        let rows = rows.map_err(failed("reading hosts of a list"))?;
        let listed = rows.iter().filter_map(|row| or_pass_over(read(row)));
        // The same id may be in several InfraEnvs, some of them not requested.
        let mut found: HashMap<HostKey, T> = listed.map(|host| (key(&host), host)).collect();
        Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
    }

    /// A text that changes whenever a host of the InfraEnv is changed, added or removed. Polls do not change it.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn hosts_mark(&self, infra_env_id: InfraEnvId) -> Result<String> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT COUNT(deleted_at), COUNT(*), CAST(COALESCE(SUM(version), 0) AS BIGINT), COALESCE(MAX(created_at), 0)
             FROM hosts WHERE infra_env_id = $1",
        )
        .bind(infra_env_id.to_string())
        .fetch_one(&mut *connection)
        .await
        .map_err(failed("looking for changes of hosts"))?;
        let number = |index: usize| {
            row.try_get::<i64, _>(index)
                .map_err(failed("reading a mark of hosts"))
        };
        // Versions only rise, also by a deletion: its row stays for a while.
        Ok(format!(
            "{}-{}-{}-{}",
            number(0)?,
            number(1)?,
            number(2)?,
            number(3)?
        ))
    }

    /// True when a host of the InfraEnv belongs to the cluster.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn has_hosts_in_cluster(&self, infra_env_id: InfraEnvId, id: ClusterId) -> Result<bool> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT id FROM hosts WHERE cluster_id = $1 AND infra_env_id = $2 AND deleted_at IS NULL LIMIT 1",
        )
        .bind(id.to_string())
        .bind(infra_env_id.to_string())
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("looking for hosts of a cluster"))?;
        Ok(row.is_some())
    }
}
