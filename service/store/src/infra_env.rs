//! Stores InfraEnvs.

use std::borrow::Cow;

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{Agreed, InfraEnv, KubeRef, NewEvent, Settings};
use sqlx::any::AnyRow;

use crate::Result;
use crate::bmc;
use crate::change::{Change, commit_change};
use crate::deletion;
use crate::error::{StoreError, failed, is_unique_violation};
use crate::lenient::readable;
use crate::row::{Json, Reading, Sealed, kube_columns, kube_ref, row, storable};
use crate::store::Store;
use crate::subject::Subject;
use crate::vault::Vault;

/// Result of a request to delete an InfraEnv.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    Deleted,
    Absent,
    /// Not deleted: this many hosts are in it.
    Inhabited(i64),
}

row! {
    InfraEnvRow<'a> of "infra_envs" by [id] {
        id: InfraEnvId,
        name: String,
        cluster_id: Option<ClusterId>,
        boot_id: String,
        version: i64,
        settings: Sealed<Json<Cow<'a, Settings>>>,
        created_at: Timestamp,
        updated_at: Timestamp,
        kube_namespace: Option<String>,
        kube_name: Option<String>,
        mirror: Option<Sealed<Json<Cow<'a, Agreed>>>>,
    }
}

/// Columns that an update of an InfraEnv does not write.
const NOT_UPDATED: [&str; 1] = ["created_at"];

impl<'a> InfraEnvRow<'a> {
    fn of(infra_env: &'a InfraEnv, version: i64) -> Self {
        let (kube_namespace, kube_name) = kube_columns(infra_env.kube.as_ref());
        Self {
            id: infra_env.id,
            name: infra_env.name.clone(),
            cluster_id: infra_env.cluster_id,
            boot_id: infra_env.boot_id.clone(),
            version,
            settings: Sealed(Json(Cow::Borrowed(&infra_env.settings))),
            created_at: infra_env.created_at,
            updated_at: infra_env.updated_at,
            kube_namespace,
            kube_name,
            mirror: infra_env
                .mirror
                .as_ref()
                .map(|agreed| Sealed(Json(Cow::Borrowed(agreed)))),
        }
    }
}

impl Store {
    /// Stores a new InfraEnv with its events; returns its first version, 1.
    ///
    /// # Errors
    /// `Conflict` when its id, its boot id or its custom resource is taken.
    pub async fn insert_infra_env(&self, infra_env: &InfraEnv, events: &[NewEvent]) -> Result<i64> {
        let values = InfraEnvRow::of(infra_env, 1).values(self.vault())?;
        let sql = format!("{} ON CONFLICT DO NOTHING", values.insert());
        let mut transaction = self.writer().await?;
        let inserted = values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a new InfraEnv"))?;
        if inserted.rows_affected() == 0 {
            return Err(conflict(infra_env.id));
        }
        let change = Change {
            subject: Subject::InfraEnv(infra_env.id),
            version: 1,
            at: infra_env.created_at,
            events,
        };
        commit_change(transaction, self, change).await?;
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
        let sql = select_infra_envs("WHERE kube_namespace = $1 AND kube_name = $2 AND deleted_at IS NULL");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(storable(&kube.namespace))
            .bind(storable(&kube.name))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the InfraEnv of a custom resource"))?;
        row.as_ref()
            .map(|row| infra_env_from(self.vault(), row))
            .transpose()
    }

    async fn find_by(&self, column: &'static str, value: String) -> Result<Option<InfraEnv>> {
        let mut connection = self.reader().await?;
        let sql = select_infra_envs(&format!("WHERE {column} = $1 AND deleted_at IS NULL"));
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(value)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading an InfraEnv"))?;
        row.as_ref()
            .map(|row| infra_env_from(self.vault(), row))
            .transpose()
    }

    /// All InfraEnvs, oldest first; those of one cluster when named.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn list_infra_envs(&self, cluster_id: Option<ClusterId>) -> Result<Vec<InfraEnv>> {
        let mut connection = self.reader().await?;
        let sql = select_infra_envs(match cluster_id {
            Some(_) => "WHERE cluster_id = $1 AND deleted_at IS NULL ORDER BY created_at, id",
            None => "WHERE deleted_at IS NULL ORDER BY created_at, id",
        });
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        if let Some(id) = cluster_id {
            query = query.bind(id.to_string());
        }
        let rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing InfraEnvs"))?;
        Ok(readable(&rows, |row| infra_env_from(self.vault(), row)))
    }

    /// Writes an InfraEnv that was read as `infra_env.version`; returns its new version. `created_at` stays.
    ///
    /// # Errors
    /// `Conflict` when another write came first, it is deleted, or its new boot id or custom resource is taken.
    pub async fn update_infra_env(&self, infra_env: &InfraEnv, events: &[NewEvent]) -> Result<i64> {
        let version = infra_env.version + 1;
        let values = InfraEnvRow::of(infra_env, version)
            .values(self.vault())?
            .without(&NOT_UPDATED);
        let sql = values.update(&["id"], |_, new| new);
        let mut transaction = self.writer().await?;
        let updated = values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await;
        let updated = match updated {
            Err(error) if is_unique_violation(&error) => return Err(conflict(infra_env.id)),
            other => other.map_err(failed("saving an InfraEnv"))?,
        };
        if updated.rows_affected() == 0 {
            return Err(conflict(infra_env.id));
        }
        let change = Change {
            subject: Subject::InfraEnv(infra_env.id),
            version,
            at: infra_env.updated_at,
            events,
        };
        commit_change(transaction, self, change).await?;
        Ok(version)
    }

    /// Deletes an InfraEnv without hosts, with its BMCs. Its row stays, unseen, without its settings.
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
        let Some(version) = deletion::lock(&mut transaction, self.kind(), "infra_envs", id).await? else {
            return Ok(Deletion::Absent);
        };
        let hosts = deletion::count_hosts(&mut transaction, "infra_env_id = $1", id).await?;
        if hosts > 0 {
            return Ok(Deletion::Inhabited(hosts));
        }
        bmc::delete_all(self, &mut transaction, id, at).await?;
        let nothing = ("settings", "{}".to_owned());
        deletion::mark(&mut transaction, "infra_envs", id, version + 1, at, nothing).await?;
        let change = Change {
            subject: Subject::InfraEnv(id),
            version: version + 1,
            at,
            events,
        };
        commit_change(transaction, self, change).await?;
        Ok(Deletion::Deleted)
    }
}

fn conflict(id: InfraEnvId) -> StoreError {
    StoreError::Conflict {
        table: "infra_envs",
        id: id.to_string(),
    }
}

fn select_infra_envs(rest: &str) -> String {
    format!("SELECT {} FROM infra_envs {rest}", InfraEnvRow::COLUMNS)
}

fn infra_env_from(vault: &Vault, row: &AnyRow) -> Result<InfraEnv> {
    let row = InfraEnvRow::read(&Reading::new(row, InfraEnvRow::TABLE, InfraEnvRow::KEY).sealed(vault))?;
    Ok(InfraEnv {
        id: row.id,
        name: row.name,
        cluster_id: row.cluster_id,
        boot_id: row.boot_id,
        version: row.version,
        created_at: row.created_at,
        updated_at: row.updated_at,
        kube: kube_ref(row.kube_namespace, row.kube_name),
        mirror: row.mirror.map(|agreed| agreed.0.0.into_owned()),
        settings: row.settings.0.0.into_owned(),
    })
}
