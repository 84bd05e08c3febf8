//! Stores clusters that hosts are added to, and lists what their hosts need to know of each other.

use std::borrow::Cow;

use muster_api::host::HostStatus;
use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_core::record::{Agreed, Cluster, ClusterData, KubeRef, NewEvent, Peer};
use sqlx::any::AnyRow;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::deletion;
use crate::error::{StoreError, failed, is_unique_violation};
use crate::feed::{Change, Subject, commit_change};
use crate::row::{Json, Reading, Sealed, document, kube_columns, kube_ref, readable, row, storable};
use crate::store::Store;
use crate::vault::{Place, Vault};

/// Versions that show whether a cached cluster is still current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterVersions {
    /// Number of writes of the cluster itself.
    pub version: i64,
    /// Number of changes of its hosts that matter to its other hosts.
    pub members_version: i64,
}

/// A cluster, perhaps a deleted one.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCluster {
    pub cluster: Cluster,
    /// `None` unless it is deleted.
    pub deleted_at: Option<Timestamp>,
}

/// Result of a request to delete a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterDeletion {
    /// Its hosts are still to be unbound; the outbox keeps the change until that is acknowledged.
    Deleted,
    Absent,
    /// Not deleted: this many of its hosts are being installed.
    Installing(i64),
}

/// Hosts in these states keep their cluster: otherwise an installation would continue without a record of its cluster.
pub const HOLDS_CLUSTER: [HostStatus; 5] = [
    HostStatus::PreparingForInstallation,
    HostStatus::PreparingSuccessful,
    HostStatus::Installing,
    HostStatus::InstallingInProgress,
    HostStatus::InstallingPendingUserAction,
];

row! {
    ClusterRow<'a> of "clusters" by [id] {
        id: ClusterId,
        name: String,
        version: i64,
        members_version: i64,
        data: Sealed<Json<Cow<'a, ClusterData>>>,
        created_at: Timestamp,
        updated_at: Timestamp,
        deleted_at: Option<Timestamp>,
        kube_namespace: Option<String>,
        kube_name: Option<String>,
        mirror: Option<Sealed<Json<Cow<'a, Agreed>>>>,
    }
}

/// Columns that an update of a cluster does not write.
const NOT_UPDATED: [&str; 3] = ["members_version", "created_at", "deleted_at"];

impl<'a> ClusterRow<'a> {
    /// The row of a cluster that is not deleted. `members_version` is that of a new one.
    fn of(cluster: &'a Cluster, version: i64) -> Self {
        let (kube_namespace, kube_name) = kube_columns(cluster.kube.as_ref());
        Self {
            id: cluster.id,
            name: cluster.data.name.clone(),
            version,
            members_version: 0,
            data: Sealed(Json(Cow::Borrowed(&cluster.data))),
            created_at: cluster.created_at,
            updated_at: cluster.updated_at,
            deleted_at: None,
            kube_namespace,
            kube_name,
            mirror: cluster
                .mirror
                .as_ref()
                .map(|agreed| Sealed(Json(Cow::Borrowed(agreed)))),
        }
    }
}

impl Store {
    /// Stores a new cluster with its events; returns its first version, 1.
    ///
    /// # Errors
    /// `Conflict` when its id or its custom resource is taken.
    pub async fn insert_cluster(&self, cluster: &Cluster, events: &[NewEvent]) -> Result<i64> {
        let values = ClusterRow::of(cluster, 1).values(self.vault())?;
        let sql = format!("{} ON CONFLICT DO NOTHING", values.insert());
        let mut transaction = self.writer().await?;
        let inserted = values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a new cluster"))?;
        if inserted.rows_affected() == 0 {
            return Err(conflict(cluster.id));
        }
        let change = Change {
            subject: Subject::Cluster(cluster.id),
            version: 1,
            at: cluster.created_at,
            events,
        };
        commit_change(transaction, self, change).await?;
        Ok(1)
    }

    /// The cluster with this id, also a deleted one: its hosts may not be unbound yet.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_cluster(&self, id: ClusterId) -> Result<Option<StoredCluster>> {
        let mut connection = self.reader().await?;
        let sql = select_clusters("WHERE id = $1");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading a cluster"))?;
        row.as_ref()
            .map(|row| cluster_from(self.vault(), row))
            .transpose()
    }

    /// The cluster of this custom resource that is not deleted.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_cluster_by_kube(&self, kube: &KubeRef) -> Result<Option<Cluster>> {
        let mut connection = self.reader().await?;
        let sql = select_clusters("WHERE kube_namespace = $1 AND kube_name = $2 AND deleted_at IS NULL");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(storable(&kube.namespace))
            .bind(storable(&kube.name))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the cluster of a custom resource"))?;
        Ok(row
            .as_ref()
            .map(|row| cluster_from(self.vault(), row))
            .transpose()?
            .map(|found| found.cluster))
    }

    /// All clusters, oldest first; with `deleted` also deleted ones.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_clusters(&self, deleted: bool) -> Result<Vec<StoredCluster>> {
        let mut connection = self.reader().await?;
        let sql = select_clusters(if deleted {
            "ORDER BY created_at, id"
        } else {
            "WHERE deleted_at IS NULL ORDER BY created_at, id"
        });
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing clusters"))?;
        Ok(readable(&rows, |row| cluster_from(self.vault(), row)))
    }

    /// The versions of a cluster, deleted or not. The cheapest read that shows that nothing changed.
    ///
    /// # Errors
    /// Fails if the database does.
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
                version: reading.get("version")?,
                members_version: reading.get("members_version")?,
            })
        })
        .transpose()
    }

    /// The data that the hosts of a cluster need of each other, sorted by id, with their clocks as last stored.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
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
        Ok(readable(&rows, |row| {
            let reading = Reading::new(row, "cluster_members", &["infra_env_id", "host_id"]);
            let clock: i64 = reading.get("host_clock")?;
            let clock_at: Option<Timestamp> = reading.get("host_clock_at")?;
            Ok(Peer {
                clock_offset_secs: clock_at.map(|at| clock.saturating_sub(at.timestamp())),
                ..reading.get::<Json<Peer>>("peer")?.0
            })
        }))
    }

    /// Writes a cluster that was read as `cluster.version`; returns its new version. `created_at` stays.
    ///
    /// # Errors
    /// `Conflict` when another write came first, it is deleted, or its new custom resource is taken.
    pub async fn update_cluster(&self, cluster: &Cluster, events: &[NewEvent]) -> Result<i64> {
        let transaction = self.writer().await?;
        self.write_cluster(transaction, cluster, events).await
    }

    /// The cluster of this custom resource that was deleted last and has a row yet: without its secrets. A mirror's is none.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_deleted_cluster(&self, kube: &KubeRef) -> Result<Option<Cluster>> {
        let mut connection = self.reader().await?;
        let sql = select_clusters(deletion::LAST_OF_RESOURCE);
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(storable(&kube.namespace))
            .bind(storable(&kube.name))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the deleted cluster of a custom resource"))?;
        let found = row.as_ref().map(|row| cluster_from(self.vault(), row));
        Ok(found.transpose()?.map(|found| found.cluster))
    }

    /// Stores a deleted cluster again, under the id that it had; `cluster.version` is that of the deletion. Returns its new version.
    ///
    /// # Errors
    /// `Conflict` when it is not deleted, or not as it was read, or its custom resource has another.
    pub async fn revive_cluster(&self, cluster: &Cluster, events: &[NewEvent]) -> Result<i64> {
        let mut transaction = self.writer().await?;
        if !deletion::unmark(&mut transaction, "clusters", cluster.id, cluster.version).await? {
            return Err(conflict(cluster.id));
        }
        self.write_cluster(transaction, cluster, events).await
    }

    async fn write_cluster(
        &self,
        mut transaction: Transaction<'static, Any>,
        cluster: &Cluster,
        events: &[NewEvent],
    ) -> Result<i64> {
        let version = cluster.version + 1;
        let values = ClusterRow::of(cluster, version)
            .values(self.vault())?
            .without(&NOT_UPDATED);
        let sql = values.update(&["id"], |_, new| new);
        let updated = values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await;
        let updated = match updated {
            Err(error) if is_unique_violation(&error) => return Err(conflict(cluster.id)),
            other => other.map_err(failed("saving a cluster"))?,
        };
        if updated.rows_affected() == 0 {
            return Err(conflict(cluster.id));
        }
        let change = Change {
            subject: Subject::Cluster(cluster.id),
            version,
            at: cluster.updated_at,
            events,
        };
        commit_change(transaction, self, change).await?;
        Ok(version)
    }

    /// Deletes a cluster unless one of its hosts is being installed. Its row stays, without its secrets. From then on no host joins it or
    /// begins to be installed into it; the handler of the outbox row unbinds the hosts that it has.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn delete_cluster(
        &self,
        id: ClusterId,
        at: Timestamp,
        events: &[NewEvent],
    ) -> Result<ClusterDeletion> {
        let mut transaction = self.writer().await?;
        // Locked first and counted after: a host that was joining or beginning to be installed has been committed by then.
        let Some(version) = deletion::lock(&mut transaction, self.kind(), "clusters", id).await? else {
            return Ok(ClusterDeletion::Absent);
        };
        let names = HOLDS_CLUSTER
            .map(|status| format!("'{}'", status.name()))
            .join(", ");
        let installing = deletion::count_hosts(
            &mut transaction,
            &format!("cluster_id = $1 AND status IN ({names})"),
            id,
        )
        .await?;
        if installing > 0 {
            return Ok(ClusterDeletion::Installing(installing));
        }
        let left = ("data", without_secrets(&mut transaction, self.vault(), id).await?);
        deletion::mark(&mut transaction, "clusters", id, version + 1, at, left).await?;
        let change = Change {
            subject: Subject::Cluster(id),
            version: version + 1,
            at,
            events,
        };
        commit_change(transaction, self, change).await?;
        Ok(ClusterDeletion::Deleted)
    }
}

/// The document of a cluster without its secrets. One that cannot be read keeps nothing.
async fn without_secrets(
    transaction: &mut Transaction<'static, Any>,
    vault: &Vault,
    id: ClusterId,
) -> Result<String> {
    let text: String = sqlx::query("SELECT data FROM clusters WHERE id = $1")
        .bind(id.to_string())
        .fetch_one(&mut **transaction)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(failed("reading a cluster to delete"))?;
    let place = Place {
        table: "clusters",
        column: "data",
        id: &id.to_string(),
    };
    let data = vault.open(&place, text).ok();
    let mut data: ClusterData = data
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    data.forget_secrets();
    Ok(vault.seal(&place, document("clusters", "data", &data)?)?)
}

fn conflict(id: ClusterId) -> StoreError {
    StoreError::Conflict {
        table: "clusters",
        id: id.to_string(),
    }
}

fn select_clusters(rest: &str) -> String {
    format!("SELECT {} FROM clusters {rest}", ClusterRow::COLUMNS)
}

fn cluster_from(vault: &Vault, row: &AnyRow) -> Result<StoredCluster> {
    let row = ClusterRow::read(&Reading::new(row, ClusterRow::TABLE, ClusterRow::KEY).sealed(vault))?;
    Ok(StoredCluster {
        cluster: Cluster {
            id: row.id,
            version: row.version,
            created_at: row.created_at,
            updated_at: row.updated_at,
            kube: kube_ref(row.kube_namespace, row.kube_name),
            mirror: row.mirror.map(|agreed| agreed.0.0.into_owned()),
            data: row.data.0.0.into_owned(),
        },
        deleted_at: row.deleted_at,
    })
}
