//! Finds hosts by what their Agents are called: by namespace and id.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::{Host, KubeRef};

use super::form::HostForm;
use super::row::{HOST_KEY, HostRow};
use crate::Result;
use crate::error::failed;
use crate::row::{Reading, kube_ref};
use crate::store::Store;

impl Store {
    /// The host of an Agent: the one with this id in an InfraEnv of this namespace. Of several (a machine that was booted into one
    /// InfraEnv after another) the one that registered last.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_host_by_kube(&self, namespace: &str, id: HostId) -> Result<Option<Host>> {
        let mut newest: Option<Host> = None;
        for row in &self.rows_of(id, HostForm::Whole).await? {
            let of: Option<String> = Reading::new(&row.row, HostRow::TABLE, HOST_KEY).get("namespace")?;
            if of.as_deref() != Some(namespace) {
                continue;
            }
            let host = self.host_from(row)?;
            if newest
                .as_ref()
                .is_none_or(|known| known.data.registered_at < host.data.registered_at)
            {
                newest = Some(host);
            }
        }
        Ok(newest)
    }

    /// True when such a host existed and is deleted.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn host_was_deleted(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<bool> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT version FROM hosts WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NOT NULL
             UNION ALL SELECT version FROM host_tombstones WHERE id = $1 AND infra_env_id = $2 LIMIT 1",
        )
        .bind(id.to_string())
        .bind(infra_env_id.to_string())
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("looking for a deleted host"))?;
        Ok(row.is_some())
    }

    /// The hosts of all InfraEnvs that belong to custom resources, oldest first: the InfraEnv's resource, and the key.
    ///
    /// # Errors
    /// `Corrupt` when a key cannot be read.
    pub async fn list_kube_host_keys(&self) -> Result<Vec<(KubeRef, InfraEnvId, HostId)>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT h.infra_env_id AS infra_env_id, h.id AS id, e.kube_namespace AS kube_namespace, e.kube_name AS kube_name
             FROM hosts h JOIN infra_envs e ON e.id = h.infra_env_id
             WHERE h.deleted_at IS NULL AND e.deleted_at IS NULL AND e.kube_name IS NOT NULL ORDER BY h.created_at, h.id",
        )
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("listing the hosts of custom resources"))?;
        let mut keys = Vec::with_capacity(rows.len());
        for row in &rows {
            let reading = Reading::new(row, "hosts", HOST_KEY);
            if let Some(kube) = kube_ref(reading.get("kube_namespace")?, reading.get("kube_name")?) {
                keys.push((kube, reading.get("infra_env_id")?, reading.get("id")?));
            }
        }
        Ok(keys)
    }
}
