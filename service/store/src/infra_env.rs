//! InfraEnvs.

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::event::NewEvent;
use muster_core::infra_env::InfraEnv;
use muster_core::kube::KubeRef;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Result;
use crate::change::{insert_events, note_change};
use crate::error::{StoreError, failed};
use crate::notify::PendingChanges;
use crate::outbox::Subject;
use crate::row::{Reading, document, kube_from, micros, storable};
use crate::store::Store;

/// What became of a request to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone.
    Deleted,
    /// There was none.
    Absent,
    /// It stays: this many hosts live in it.
    Inhabited(i64),
}

const COLUMNS: &str =
    "id, name, cluster_id, boot_id, version, settings, created_at, updated_at, kube_namespace, kube_name";

impl Store {
    /// Stores a new InfraEnv with its events and answers its first version, 1.
    ///
    /// # Errors
    /// `Conflict` when its id, its boot id or its custom resource is taken.
    pub async fn insert_infra_env(&self, infra_env: &InfraEnv, events: &[NewEvent]) -> Result<i64> {
        let settings = document("InfraEnv settings", &infra_env.settings)?;
        let mut transaction = self.writer().await?;
        let inserted = sqlx::query(
            "INSERT INTO infra_envs (id, name, cluster_id, boot_id, version, settings, created_at, updated_at, deleted_at,
                                     kube_namespace, kube_name)
             VALUES ($1, $2, $3, $4, 1, $5, $6, $7, NULL, $8, $9) ON CONFLICT DO NOTHING",
        )
        .bind(infra_env.id.to_string())
        .bind(storable(&infra_env.name))
        .bind(infra_env.cluster_id.map(|id| id.to_string()))
        .bind(&infra_env.boot_id)
        .bind(settings)
        .bind(micros(infra_env.created_at))
        .bind(micros(infra_env.updated_at))
        .bind(infra_env.kube.as_ref().map(|kube| storable(&kube.namespace)))
        .bind(infra_env.kube.as_ref().map(|kube| storable(&kube.name)))
        .execute(&mut *transaction)
        .await
        .map_err(failed("storing a new InfraEnv"))?;
        if inserted.rows_affected() == 0 {
            return Err(conflict(infra_env.id));
        }
        insert_events(&mut transaction, self, events).await?;
        let mut pending = PendingChanges::default();
        note_change(
            &mut transaction,
            &mut pending,
            Subject::InfraEnv(infra_env.id),
            1,
            infra_env.created_at,
        )
        .await?;
        pending.commit(transaction, self).await?;
        Ok(1)
    }

    /// The InfraEnv with this id.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_infra_env(&self, id: InfraEnvId) -> Result<Option<InfraEnv>> {
        self.find_by("id", id.to_string()).await
    }

    /// The InfraEnv whose boot URLs carry `boot_id`.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_infra_env_by_boot_id(&self, boot_id: &str) -> Result<Option<InfraEnv>> {
        self.find_by("boot_id", storable(boot_id)).await
    }

    /// The InfraEnv that belongs to this custom resource.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_infra_env_by_kube(&self, kube: &KubeRef) -> Result<Option<InfraEnv>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {COLUMNS} FROM infra_envs WHERE kube_namespace = $1 AND kube_name = $2 AND deleted_at IS NULL"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(storable(&kube.namespace))
            .bind(storable(&kube.name))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the InfraEnv of a custom resource"))?;
        row.as_ref().map(infra_env_from).transpose()
    }

    async fn find_by(&self, column: &'static str, value: String) -> Result<Option<InfraEnv>> {
        let mut connection = self.reader().await?;
        let sql = format!("SELECT {COLUMNS} FROM infra_envs WHERE {column} = $1 AND deleted_at IS NULL");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(value)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading an InfraEnv"))?;
        row.as_ref().map(infra_env_from).transpose()
    }

    /// All InfraEnvs, oldest first; those of one cluster when named.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn list_infra_envs(&self, cluster_id: Option<ClusterId>) -> Result<Vec<InfraEnv>> {
        let mut connection = self.reader().await?;
        let of_cluster = if cluster_id.is_some() {
            "cluster_id = $1 AND "
        } else {
            ""
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM infra_envs WHERE {of_cluster}deleted_at IS NULL ORDER BY created_at, id"
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        if let Some(id) = cluster_id {
            query = query.bind(id.to_string());
        }
        let rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing InfraEnvs"))?;
        rows.iter().map(infra_env_from).collect()
    }

    /// Writes an InfraEnv that was read as `infra_env.version` and answers its new version. `created_at` and `kube` stay.
    ///
    /// # Errors
    /// `Conflict` when another write came first, it is gone, or its new boot id is taken.
    pub async fn update_infra_env(&self, infra_env: &InfraEnv, events: &[NewEvent]) -> Result<i64> {
        let settings = document("InfraEnv settings", &infra_env.settings)?;
        let mut transaction = self.writer().await?;
        let updated = sqlx::query(
            "UPDATE infra_envs SET version = version + 1, name = $3, cluster_id = $4, boot_id = $5, settings = $6, updated_at = $7
             WHERE id = $1 AND version = $2 AND deleted_at IS NULL",
        )
        .bind(infra_env.id.to_string())
        .bind(infra_env.version)
        .bind(storable(&infra_env.name))
        .bind(infra_env.cluster_id.map(|id| id.to_string()))
        .bind(&infra_env.boot_id)
        .bind(settings)
        .bind(micros(infra_env.updated_at))
        .execute(&mut *transaction)
        .await;
        let updated = match updated {
            Err(error)
                if error
                    .as_database_error()
                    .is_some_and(|error| error.is_unique_violation()) =>
            {
                return Err(conflict(infra_env.id));
            }
            other => other.map_err(failed("saving an InfraEnv"))?,
        };
        if updated.rows_affected() == 0 {
            return Err(conflict(infra_env.id));
        }
        let version = infra_env.version + 1;
        insert_events(&mut transaction, self, events).await?;
        let mut pending = PendingChanges::default();
        note_change(
            &mut transaction,
            &mut pending,
            Subject::InfraEnv(infra_env.id),
            version,
            infra_env.updated_at,
        )
        .await?;
        pending.commit(transaction, self).await?;
        Ok(version)
    }

    /// Deletes an InfraEnv in which no host lives. Its row stays, unseen.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn delete_infra_env(
        &self,
        id: InfraEnvId,
        at: Timestamp,
        events: &[NewEvent],
    ) -> Result<Deletion> {
        let mut transaction = self.writer().await?;
        // Locked first and counted after: a host that was just moving in has been committed by then.
        let sql = format!(
            "SELECT version FROM infra_envs WHERE id = $1 AND deleted_at IS NULL{}",
            self.kind().locking()
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed("looking for an InfraEnv to delete"))?;
        let Some(row) = row else {
            return Ok(Deletion::Absent);
        };
        let version = row.try_get::<i64, _>(0).map_err(failed("reading a version"))? + 1;
        let hosts = sqlx::query("SELECT COUNT(*) FROM hosts WHERE infra_env_id = $1 AND deleted_at IS NULL")
            .bind(id.to_string())
            .fetch_one(&mut *transaction)
            .await
            .and_then(|row| row.try_get::<i64, _>(0))
            .map_err(failed("counting the hosts of an InfraEnv"))?;
        if hosts > 0 {
            return Ok(Deletion::Inhabited(hosts));
        }
        sqlx::query("UPDATE infra_envs SET deleted_at = $2, version = $3 WHERE id = $1")
            .bind(id.to_string())
            .bind(micros(at))
            .bind(version)
            .execute(&mut *transaction)
            .await
            .map_err(failed("deleting an InfraEnv"))?;
        insert_events(&mut transaction, self, events).await?;
        let mut pending = PendingChanges::default();
        note_change(&mut transaction, &mut pending, Subject::InfraEnv(id), version, at).await?;
        pending.commit(transaction, self).await?;
        Ok(Deletion::Deleted)
    }
}

fn conflict(id: InfraEnvId) -> StoreError {
    StoreError::Conflict {
        table: "infra_envs",
        id: id.to_string(),
    }
}

fn infra_env_from(row: &AnyRow) -> Result<InfraEnv> {
    let reading = Reading::new(row, "infra_envs", &["id"]);
    Ok(InfraEnv {
        id: reading.parsed("id")?,
        name: reading.text("name")?,
        cluster_id: reading.parsed_or_none("cluster_id")?,
        boot_id: reading.text("boot_id")?,
        version: reading.number("version")?,
        created_at: reading.moment("created_at")?,
        updated_at: reading.moment("updated_at")?,
        kube: kube_from(&reading)?,
        settings: reading.document("settings")?,
    })
}
