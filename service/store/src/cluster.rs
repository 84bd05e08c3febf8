//! Clusters that hosts are added to, and what their hosts need to know of each other.

use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::cluster::Cluster;
use muster_core::event::NewEvent;
use muster_core::host::{Host, Peer};
use muster_core::kube::KubeRef;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Result;
use crate::change::{insert_events, note_change};
use crate::error::{StoreError, failed};
use crate::host::{HOST_COLUMNS, HOST_KEY, host_from};
use crate::notify::PendingChanges;
use crate::outbox::Subject;
use crate::row::{Reading, document, kube_from, micros, storable};
use crate::store::Store;

/// What tells whether a cluster kept in memory is still as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterVersions {
    /// Number of writes of the cluster itself.
    pub version: i64,
    /// Number of changes of its hosts that other hosts of it must know of.
    pub members_version: i64,
}

/// A cluster, perhaps a deleted one.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCluster {
    /// The cluster.
    pub cluster: Cluster,
    /// `None` while it lives.
    pub deleted_at: Option<Timestamp>,
}

/// What became of a request to delete a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterDeletion {
    /// It is gone. Its hosts are still to be let go; the outbox says so until that is acknowledged.
    Deleted,
    /// There was none.
    Absent,
    /// It stays: this many of its hosts are being installed.
    Installing(i64),
}

/// Hosts in these states keep their cluster: an installation would go on without a record of it.
pub const HOLDS_CLUSTER: [HostStatus; 5] = [
    HostStatus::PreparingForInstallation,
    HostStatus::PreparingSuccessful,
    HostStatus::Installing,
    HostStatus::InstallingInProgress,
    HostStatus::InstallingPendingUserAction,
];

const COLUMNS: &str = "id, version, data, created_at, updated_at, deleted_at, kube_namespace, kube_name";

impl Store {
    /// Stores a new cluster with its events and answers its first version, 1.
    ///
    /// # Errors
    /// `Conflict` when its id or its custom resource is taken.
    pub async fn insert_cluster(&self, cluster: &Cluster, events: &[NewEvent]) -> Result<i64> {
        let data = document("cluster data", &cluster.data)?;
        let mut transaction = self.writer().await?;
        let inserted = sqlx::query(
            "INSERT INTO clusters (id, name, version, members_version, data, created_at, updated_at, deleted_at,
                                   kube_namespace, kube_name)
             VALUES ($1, $2, 1, 0, $3, $4, $5, NULL, $6, $7) ON CONFLICT DO NOTHING",
        )
        .bind(cluster.id.to_string())
        .bind(storable(&cluster.data.name))
        .bind(data)
        .bind(micros(cluster.created_at))
        .bind(micros(cluster.updated_at))
        .bind(cluster.kube.as_ref().map(|kube| storable(&kube.namespace)))
        .bind(cluster.kube.as_ref().map(|kube| storable(&kube.name)))
        .execute(&mut *transaction)
        .await
        .map_err(failed("storing a new cluster"))?;
        if inserted.rows_affected() == 0 {
            return Err(conflict(cluster.id));
        }
        insert_events(&mut transaction, self, events).await?;
        let mut pending = PendingChanges::default();
        note_change(
            &mut transaction,
            &mut pending,
            Subject::Cluster(cluster.id),
            1,
            cluster.created_at,
        )
        .await?;
        pending.commit(transaction, self).await?;
        Ok(1)
    }

    /// The cluster with this id, also a deleted one: its hosts may not have been let go yet.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_cluster(&self, id: ClusterId) -> Result<Option<StoredCluster>> {
        let mut connection = self.reader().await?;
        let sql = format!("SELECT {COLUMNS} FROM clusters WHERE id = $1");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading a cluster"))?;
        row.as_ref().map(cluster_from).transpose()
    }

    /// The living cluster that belongs to this custom resource.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_cluster_by_kube(&self, kube: &KubeRef) -> Result<Option<Cluster>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {COLUMNS} FROM clusters WHERE kube_namespace = $1 AND kube_name = $2 AND deleted_at IS NULL"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(storable(&kube.namespace))
            .bind(storable(&kube.name))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the cluster of a custom resource"))?;
        Ok(row
            .as_ref()
            .map(cluster_from)
            .transpose()?
            .map(|found| found.cluster))
    }

    /// All clusters, oldest first; with `deleted` those that are deleted, too.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn list_clusters(&self, deleted: bool) -> Result<Vec<StoredCluster>> {
        let mut connection = self.reader().await?;
        let alive = if deleted { "" } else { "WHERE deleted_at IS NULL " };
        let sql = format!("SELECT {COLUMNS} FROM clusters {alive}ORDER BY created_at, id");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing clusters"))?;
        rows.iter().map(cluster_from).collect()
    }

    /// The versions of a cluster, alive or deleted. The least that can be read to know that nothing changed.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn cluster_versions(&self, id: ClusterId) -> Result<Option<ClusterVersions>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query("SELECT id, version, members_version FROM clusters WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the versions of a cluster"))?;
        row.map(|row| {
            let reading = Reading::new(&row, "clusters", &["id"]);
            Ok(ClusterVersions {
                version: reading.number("version")?,
                members_version: reading.number("members_version")?,
            })
        })
        .transpose()
    }

    /// What the hosts of a cluster need to know of each other, sorted by id, with their clocks as last written down.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn list_cluster_peers(&self, id: ClusterId) -> Result<Vec<Peer>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT m.infra_env_id AS infra_env_id, m.host_id AS host_id, m.peer AS peer, h.host_clock AS host_clock,
                    h.host_clock_at AS host_clock_at
             FROM cluster_members m JOIN hosts h ON h.id = m.host_id AND h.infra_env_id = m.infra_env_id
             WHERE m.cluster_id = $1 ORDER BY m.host_id, m.infra_env_id",
        )
        .bind(id.to_string())
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("listing what hosts of a cluster know of each other"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "cluster_members", &["infra_env_id", "host_id"]);
                let clock = reading.number("host_clock")?;
                let told_at = reading.moment_or_none("host_clock_at")?;
                Ok(Peer {
                    clock_offset_secs: told_at.map(|at| clock.saturating_sub(at.timestamp())),
                    ..reading.document::<Peer>("peer")?
                })
            })
            .collect()
    }

    /// The hosts of a cluster, oldest first.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn list_cluster_hosts(&self, id: ClusterId) -> Result<Vec<Host>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {HOST_COLUMNS} FROM hosts WHERE cluster_id = $1 AND deleted_at IS NULL ORDER BY created_at, id"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing the hosts of a cluster"))?;
        rows.iter().map(host_from).collect()
    }

    /// The keys of the hosts of a cluster, oldest first.
    ///
    /// # Errors
    /// `Corrupt` when a key cannot be read.
    pub async fn list_cluster_host_keys(&self, id: ClusterId) -> Result<Vec<(InfraEnvId, HostId)>> {
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
                let reading = Reading::new(row, "hosts", &HOST_KEY);
                Ok((reading.parsed("infra_env_id")?, reading.parsed("id")?))
            })
            .collect()
    }

    /// Writes a cluster that was read as `cluster.version` and answers its new version. `created_at` and `kube` stay.
    ///
    /// # Errors
    /// `Conflict` when another write came first, or it is gone.
    pub async fn update_cluster(&self, cluster: &Cluster, events: &[NewEvent]) -> Result<i64> {
        let data = document("cluster data", &cluster.data)?;
        let mut transaction = self.writer().await?;
        let updated = sqlx::query(
            "UPDATE clusters SET version = version + 1, name = $3, data = $4, updated_at = $5
             WHERE id = $1 AND version = $2 AND deleted_at IS NULL",
        )
        .bind(cluster.id.to_string())
        .bind(cluster.version)
        .bind(storable(&cluster.data.name))
        .bind(data)
        .bind(micros(cluster.updated_at))
        .execute(&mut *transaction)
        .await
        .map_err(failed("saving a cluster"))?;
        if updated.rows_affected() == 0 {
            return Err(conflict(cluster.id));
        }
        let version = cluster.version + 1;
        insert_events(&mut transaction, self, events).await?;
        let mut pending = PendingChanges::default();
        note_change(
            &mut transaction,
            &mut pending,
            Subject::Cluster(cluster.id),
            version,
            cluster.updated_at,
        )
        .await?;
        pending.commit(transaction, self).await?;
        Ok(version)
    }

    /// Deletes a cluster none of whose hosts is being installed. Its row stays. From then on no host joins it or begins to be
    /// installed into it; letting go those that it has is the business of whoever takes the change from the outbox.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn delete_cluster(
        &self,
        id: ClusterId,
        at: Timestamp,
        events: &[NewEvent],
    ) -> Result<ClusterDeletion> {
        let mut transaction = self.writer().await?;
        // Locked first and counted after: a host that was just joining or beginning has been committed by then.
        let sql = format!(
            "SELECT version FROM clusters WHERE id = $1 AND deleted_at IS NULL{}",
            self.kind().locking()
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed("looking for a cluster to delete"))?;
        let Some(row) = row else {
            return Ok(ClusterDeletion::Absent);
        };
        let version = row.try_get::<i64, _>(0).map_err(failed("reading a version"))? + 1;
        let names = HOLDS_CLUSTER
            .map(|status| format!("'{}'", status.name()))
            .join(", ");
        let sql = format!(
            "SELECT COUNT(*) FROM hosts WHERE cluster_id = $1 AND deleted_at IS NULL AND status IN ({names})"
        );
        let installing = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_one(&mut *transaction)
            .await
            .and_then(|row| row.try_get::<i64, _>(0))
            .map_err(failed("counting the hosts that are installed into a cluster"))?;
        if installing > 0 {
            return Ok(ClusterDeletion::Installing(installing));
        }
        sqlx::query("UPDATE clusters SET deleted_at = $2, version = $3 WHERE id = $1")
            .bind(id.to_string())
            .bind(micros(at))
            .bind(version)
            .execute(&mut *transaction)
            .await
            .map_err(failed("deleting a cluster"))?;
        insert_events(&mut transaction, self, events).await?;
        let mut pending = PendingChanges::default();
        note_change(&mut transaction, &mut pending, Subject::Cluster(id), version, at).await?;
        pending.commit(transaction, self).await?;
        Ok(ClusterDeletion::Deleted)
    }
}

fn conflict(id: ClusterId) -> StoreError {
    StoreError::Conflict {
        table: "clusters",
        id: id.to_string(),
    }
}

fn cluster_from(row: &AnyRow) -> Result<StoredCluster> {
    let reading = Reading::new(row, "clusters", &["id"]);
    Ok(StoredCluster {
        cluster: Cluster {
            id: reading.parsed("id")?,
            version: reading.number("version")?,
            created_at: reading.moment("created_at")?,
            updated_at: reading.moment("updated_at")?,
            kube: kube_from(&reading)?,
            data: reading.document("data")?,
        },
        deleted_at: reading.moment_or_none("deleted_at")?,
    })
}
