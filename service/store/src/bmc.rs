//! Stores BMCs, and which process works on which of them.

mod claim;
mod failed;
mod hosts;
mod names;
mod orphans;
mod page;
mod resource;
mod short;

use std::borrow::Cow;

use muster_api::bmc::{BmcInventory, BmcPhase};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{
    Bmc, BmcAsked, BmcPower, BmcProgress, BmcResource, BmcSettings, BmcStage, ImageReads, NewEvent, Secret,
};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::{StoreError, failed, is_unique_violation};
use crate::event;
use crate::feed::PendingChanges;
use crate::row::{Json, Reading, Sealed, kube_columns, kube_ref, micros, readable, row, storable};
use crate::statement::commit;
use crate::store::Store;
use crate::vault::Vault;
use resource::note;

pub use failed::FailedBmc;
pub use names::BmcName;
pub(crate) use orphans::delete_all;
pub use page::BmcWindow;

row! {
    BmcRow<'a> of "bmcs" by [id] {
        id: BmcId,
        infra_env_id: InfraEnvId,
        name: String,
        place: String,
        version: i64,
        created_at: Timestamp,
        updated_at: Timestamp,
        settings: Json<Cow<'a, BmcSettings>>,
        password: Sealed<String>,
        run: i64,
        phase: BmcPhase,
        stage: Json<Cow<'a, BmcStage>>,
        progress: Json<Cow<'a, BmcProgress>>,
        host_id: Option<HostId>,
        inventory: Option<Json<Cow<'a, BmcInventory>>>,
        due_at: Option<Timestamp>,
        image_requests: i64,
        image_bytes: i64,
        image_at: Option<Timestamp>,
        kube_namespace: Option<String>,
        kube_name: Option<String>,
        asked: Option<Json<Cow<'a, BmcAsked>>>,
        power: Option<Json<Cow<'a, BmcPower>>>,
        power_due_at: Option<Timestamp>,
    }
}

/// Columns that an update does not write: [`Store::add_bmc_image_reads`] counts them.
const NOT_UPDATED: [&str; 4] = ["created_at", "image_requests", "image_bytes", "image_at"];

impl<'a> BmcRow<'a> {
    fn of(bmc: &'a Bmc, version: i64) -> Self {
        let resource = bmc.resource.as_ref();
        let (kube_namespace, kube_name) = kube_columns(resource.map(|resource| &resource.kube));
        Self {
            id: bmc.id,
            infra_env_id: bmc.infra_env_id,
            name: bmc.name.clone(),
            place: bmc.place(),
            version,
            created_at: bmc.created_at,
            updated_at: bmc.updated_at,
            settings: Json(Cow::Borrowed(&bmc.settings)),
            password: Sealed(bmc.password.reveal().to_owned()),
            run: bmc.run,
            phase: bmc.stage.phase(),
            stage: Json(Cow::Borrowed(&bmc.stage)),
            progress: Json(Cow::Borrowed(&bmc.progress)),
            host_id: bmc.host_id,
            inventory: bmc.inventory.as_ref().map(|told| Json(Cow::Borrowed(told))),
            due_at: bmc.progress.due_at,
            image_requests: bmc.image.requests,
            image_bytes: bmc.image.bytes,
            image_at: bmc.image.last_at,
            kube_namespace,
            kube_name,
            asked: resource.map(|resource| Json(Cow::Borrowed(&resource.asked))),
            power: Some(Json(Cow::Borrowed(&bmc.power))),
            power_due_at: bmc.power.pending().map(|request| request.asked_at),
        }
    }
}

impl Store {
    /// Stores new BMCs with their events, all or none.
    ///
    /// # Errors
    /// `Missing` when their InfraEnv does not exist; `Conflict` when a name or a place is taken, with the name of the BMC.
    pub async fn insert_bmcs(&self, bmcs: &[Bmc], events: &[NewEvent]) -> Result<()> {
        let mut transaction = self.writer().await?;
        let mut pending = PendingChanges::default();
        for bmc in bmcs {
            self.hold_infra_env(&mut transaction, bmc.infra_env_id).await?;
            let values = BmcRow::of(bmc, 1).values(self.vault())?;
            let sql = format!("{} ON CONFLICT DO NOTHING", values.insert());
            let inserted = values
                .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
                .execute(&mut *transaction)
                .await
                .map_err(failed("storing a new BMC"))?;
            if inserted.rows_affected() == 0 {
                return Err(conflict(&bmc.name));
            }
            note(&mut transaction, &mut pending, self, (bmc, 1), &[]).await?;
        }
        event::insert(&mut transaction, self, events).await?;
        pending.commit(transaction, self).await
    }

    /// The BMC with this id.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_bmc(&self, id: BmcId) -> Result<Option<Bmc>> {
        self.find_bmc_where("id = $1", &[id.to_string()]).await
    }

    /// The BMCs of an InfraEnv, by name. A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_bmcs(&self, infra_env_id: InfraEnvId) -> Result<Vec<Bmc>> {
        self.bmcs_of(infra_env_id, "").await
    }

    /// The BMCs of an InfraEnv that a change of a host may matter to: they wait for their machine's agent, or hold something until the host
    /// is done with it.
    ///
    /// # Errors
    /// As [`Store::list_bmcs`].
    pub async fn list_bmcs_awaiting_hosts(&self, infra_env_id: InfraEnvId) -> Result<Vec<Bmc>> {
        let (waiting, discovered) = (BmcPhase::WaitingForAgent, BmcPhase::Discovered);
        let condition = format!(" AND phase IN ('{waiting}', '{discovered}') AND due_at IS NOT NULL");
        self.bmcs_of(infra_env_id, &condition).await
    }

    async fn bmcs_of(&self, infra_env_id: InfraEnvId, condition: &str) -> Result<Vec<Bmc>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM bmcs WHERE infra_env_id = $1{condition} ORDER BY name",
            BmcRow::COLUMNS
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(infra_env_id.to_string())
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing BMCs"))?;
        Ok(readable(&rows, |row| bmc_from(self.vault(), row)))
    }

    /// Number of BMCs of an InfraEnv.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn count_bmcs(&self, infra_env_id: InfraEnvId) -> Result<i64> {
        let mut connection = self.reader().await?;
        sqlx::query("SELECT COUNT(*) FROM bmcs WHERE infra_env_id = $1")
            .bind(infra_env_id.to_string())
            .fetch_one(&mut *connection)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(failed("counting BMCs"))
    }

    /// Writes a BMC that was read as `bmc.version`; returns its new version. The counts of image reads stay.
    ///
    /// # Errors
    /// `Conflict` when another write came first, it is deleted, or its new name or place is taken.
    pub async fn update_bmc(&self, bmc: &Bmc, events: &[NewEvent]) -> Result<i64> {
        let version = bmc.version + 1;
        let values = BmcRow::of(bmc, version)
            .values(self.vault())?
            .without(&NOT_UPDATED);
        let sql = values.update_versioned(BmcRow::KEY);
        let mut transaction = self.writer().await?;
        let updated = values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await;
        let updated = match updated {
            Err(error) if is_unique_violation(&error) => return Err(conflict(&bmc.name)),
            other => other.map_err(failed("saving a BMC"))?,
        };
        if updated.rows_affected() == 0 {
            return Err(conflict(&bmc.name));
        }
        let mut pending = PendingChanges::default();
        note(&mut transaction, &mut pending, self, (bmc, version), events).await?;
        pending.commit(transaction, self).await?;
        Ok(version)
    }

    /// Deletes a BMC that was read as `bmc.version`, with its password.
    ///
    /// # Errors
    /// `Conflict` when another write came first, or it is deleted.
    pub async fn delete_bmc(&self, bmc: &Bmc, events: &[NewEvent]) -> Result<()> {
        let mut transaction = self.writer().await?;
        let deleted = sqlx::query("DELETE FROM bmcs WHERE id = $1 AND version = $2")
            .bind(bmc.id.to_string())
            .bind(bmc.version)
            .execute(&mut *transaction)
            .await
            .map_err(failed("deleting a BMC"))?;
        if deleted.rows_affected() == 0 {
            return Err(conflict(&bmc.name));
        }
        let mut pending = PendingChanges::default();
        note(
            &mut transaction,
            &mut pending,
            self,
            (bmc, bmc.version + 1),
            events,
        )
        .await?;
        pending.commit(transaction, self).await
    }

    /// True when another BMC of the InfraEnv has this name, or any has this place: the two causes of a `Conflict`.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn bmc_takes(&self, bmc: &Bmc) -> Result<bool> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT id FROM bmcs WHERE id <> $1 AND ((infra_env_id = $2 AND name = $3) OR place = $4) LIMIT 1",
        )
        .bind(bmc.id.to_string())
        .bind(bmc.infra_env_id.to_string())
        .bind(storable(&bmc.name))
        .bind(bmc.place())
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("looking for a BMC of the same name"))?;
        Ok(row.is_some())
    }

    /// Counts reads of the images of BMCs. Deleted BMCs are skipped.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn add_bmc_image_reads(&self, reads: &[(BmcId, ImageReads)]) -> Result<()> {
        let mut transaction = self.writer().await?;
        for (id, read) in reads {
            sqlx::query(
                "UPDATE bmcs SET image_requests = image_requests + $2, image_bytes = image_bytes + $3, image_at = $4 WHERE id = $1",
            )
            .bind(id.to_string())
            .bind(read.requests)
            .bind(read.bytes)
            .bind(read.last_at.map(micros))
            .execute(&mut *transaction)
            .await
            .map_err(failed("counting what was read of an image"))?;
        }
        commit(transaction).await
    }
}

fn conflict(name: &str) -> StoreError {
    StoreError::Conflict {
        table: "bmcs",
        id: name.to_owned(),
    }
}

fn bmc_from(vault: &Vault, row: &AnyRow) -> Result<Bmc> {
    let row = BmcRow::read(&Reading::new(row, BmcRow::TABLE, BmcRow::KEY).sealed(vault))?;
    let asked = row.asked.map(|asked| asked.0.into_owned()).unwrap_or_default();
    let kube = kube_ref(row.kube_namespace, row.kube_name);
    Ok(Bmc {
        resource: kube.map(|kube| BmcResource { kube, asked }),
        id: row.id,
        infra_env_id: row.infra_env_id,
        name: row.name,
        version: row.version,
        created_at: row.created_at,
        updated_at: row.updated_at,
        settings: row.settings.0.into_owned(),
        password: Secret::new(row.password.0),
        run: row.run,
        stage: row.stage.0.into_owned(),
        progress: row.progress.0.into_owned(),
        power: row.power.map(|power| power.0.into_owned()).unwrap_or_default(),
        host_id: row.host_id,
        inventory: row.inventory.map(|told| told.0.into_owned()),
        image: ImageReads {
            requests: row.image_requests,
            bytes: row.image_bytes,
            last_at: row.image_at,
        },
    })
}
