//! Stores InfraEnvs.

use std::borrow::Cow;

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{Agreed, InfraEnv, KubeRef, NewEvent, Settings};
use sqlx::any::AnyRow;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::bmc;
use crate::deletion;
use crate::error::{StoreError, failed, is_unique_violation};
use crate::feed::{Change, Subject, commit_change};
use crate::row::{Json, Reading, Sealed, kube_columns, kube_ref, readable, row, storable};
use crate::store::Store;
use crate::vault::{Place, Vault};

/// Result of a request to delete an InfraEnv.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    Deleted,
    Absent,
    /// Not deleted: it has this many hosts.
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

    /// The InfraEnv with `boot_id` in its boot URLs.
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

    /// All InfraEnvs, oldest first; those of one cluster if given.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
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
        let transaction = self.writer().await?;
        self.write_infra_env(transaction, infra_env, events).await
    }

    async fn write_infra_env(
        &self,
        mut transaction: Transaction<'static, Any>,
        infra_env: &InfraEnv,
        events: &[NewEvent],
    ) -> Result<i64> {
        let version = infra_env.version + 1;
        let values = InfraEnvRow::of(infra_env, version)
            .values(self.vault())?
            .without(&NOT_UPDATED);
        let sql = values.update(&["id"], |_, new| new);
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

    /// The InfraEnv of this custom resource that was deleted last, if its row still exists: without its settings, except the generation of
    /// its tokens. A mirror's InfraEnv does not count.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_deleted_infra_env(&self, kube: &KubeRef) -> Result<Option<InfraEnv>> {
        let mut connection = self.reader().await?;
        let sql = select_infra_envs(deletion::LAST_OF_RESOURCE);
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(storable(&kube.namespace))
            .bind(storable(&kube.name))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the deleted InfraEnv of a custom resource"))?;
        row.as_ref()
            .map(|row| infra_env_from(self.vault(), row))
            .transpose()
    }

    /// The custom resource of a deleted InfraEnv.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn resource_of_deleted_infra_env(&self, id: InfraEnvId) -> Result<Option<KubeRef>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT kube_namespace, kube_name FROM infra_envs WHERE id = $1 AND deleted_at IS NOT NULL",
        )
        .bind(id.to_string())
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("reading the custom resource of a deleted InfraEnv"))?;
        let Some(row) = row else { return Ok(None) };
        let column = |at: usize| row.try_get::<Option<String>, _>(at);
        let columns = column(0).and_then(|namespace| Ok((namespace, column(1)?)));
        let (namespace, name) =
            columns.map_err(failed("reading the custom resource of a deleted InfraEnv"))?;
        Ok(kube_ref(namespace, name))
    }

    /// Stores a deleted InfraEnv again, under the id that it had; `infra_env.version` is that of the deletion. Returns its new version.
    ///
    /// # Errors
    /// `Conflict` when it is not deleted, or not as it was read, or its custom resource has another.
    pub async fn revive_infra_env(&self, infra_env: &InfraEnv, events: &[NewEvent]) -> Result<i64> {
        let mut transaction = self.writer().await?;
        if !deletion::unmark(&mut transaction, "infra_envs", infra_env.id, infra_env.version).await? {
            return Err(conflict(infra_env.id));
        }
        self.write_infra_env(transaction, infra_env, events).await
    }

    /// Deletes an InfraEnv without hosts, and its BMCs. Its row stays hidden, without its settings.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn delete_infra_env(
        &self,
        id: InfraEnvId,
        at: Timestamp,
        events: &[NewEvent],
    ) -> Result<Deletion> {
        let mut transaction = self.writer().await?;
        // Locked first and counted after: a host that was being added has been committed by then.
        let Some(version) = deletion::lock(&mut transaction, self.kind(), "infra_envs", id).await? else {
            return Ok(Deletion::Absent);
        };
        let hosts = deletion::count_hosts(&mut transaction, "infra_env_id = $1", id).await?;
        if hosts > 0 {
            return Ok(Deletion::Inhabited(hosts));
        }
        bmc::delete_all(self, &mut transaction, id, at).await?;
        let left = ("settings", remaining(&mut transaction, self.vault(), id).await?);
        deletion::mark(&mut transaction, "infra_envs", id, version + 1, at, left).await?;
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

/// The settings that outlive an InfraEnv: the generation of its tokens, so that tokens refused before stay refused when it is revived.
/// Nothing of settings that cannot be read.
async fn remaining(
    transaction: &mut Transaction<'static, Any>,
    vault: &Vault,
    id: InfraEnvId,
) -> Result<String> {
    let text: String = sqlx::query("SELECT settings FROM infra_envs WHERE id = $1")
        .bind(id.to_string())
        .fetch_one(&mut **transaction)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(failed("reading an InfraEnv to delete"))?;
    let place = Place {
        table: "infra_envs",
        column: "settings",
        id: &id.to_string(),
    };
    let settings = vault.open(&place, text).ok();
    let settings: Settings = settings
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    Ok(match settings.token_generation {
        0 => "{}".to_owned(),
        generation => serde_json::json!({"token_generation": generation}).to_string(),
    })
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
