//! Finds hosts by the names of their Agents: by namespace and id.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::{Host, KubeRef};

use crate::Result;
use crate::error::failed;
use crate::host::form::HostForm;
use crate::host::row::{HOST_KEY, HostRow};
use crate::row::{Reading, kube_ref};
use crate::store::Store;

impl Store {
    /// The hosts of this id in InfraEnvs of custom resources in `namespace`, each with the name of its InfraEnv's resource; the one that
    /// registered last first. More than one where two machines have the same id, or one was booted into two InfraEnvs.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn find_hosts_by_kube(&self, namespace: &str, id: HostId) -> Result<Vec<(String, Host)>> {
        let mut hosts = Vec::new();
        for row in &self.rows_of(id, HostForm::Whole).await? {
            let resource: Option<String> =
                Reading::new(&row.row, HostRow::TABLE, HOST_KEY).get("resource")?;
            let found = resource.as_deref().and_then(|text| text.split_once('/'));
            if let Some((_, name)) = found.filter(|(of, _)| *of == namespace) {
                hosts.push((name.to_owned(), self.host_from(row)?));
            }
        }
        hosts.sort_by_key(|(_, host)| std::cmp::Reverse(host.data.registered_at));
        Ok(hosts)
    }

    /// True when such a host existed and is deleted.
    ///
    /// # Errors
    /// Fails if the database does.
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
