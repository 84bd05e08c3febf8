//! BMCs whose discovery failed, in short.

use muster_api::bmc::BmcPhase;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::record::BmcProgress;
use sqlx::any::AnyRow;

use super::BmcRow;
use crate::Result;
use crate::error::failed;
use crate::row::{Json, Reading, readable};
use crate::store::Store;

/// A BMC whose discovery failed, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedBmc {
    pub id: BmcId,
    pub infra_env_id: InfraEnvId,
    pub name: String,
    pub reason: String,
}

impl Store {
    /// The BMCs of an InfraEnv, or of all, whose discovery failed, by name. A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_failed_bmcs(&self, infra_env_id: Option<InfraEnvId>) -> Result<Vec<FailedBmc>> {
        let condition = match infra_env_id {
            Some(_) => " AND infra_env_id = $2",
            None => "",
        };
        let sql = format!(
            "SELECT id, infra_env_id, name, progress FROM bmcs WHERE phase = $1{condition} ORDER BY name, id"
        );
        let mut connection = self.reader().await?;
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(BmcPhase::Failed.to_string());
        let query = match infra_env_id {
            Some(id) => query.bind(id.to_string()),
            None => query,
        };
        let rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing failed BMCs"))?;
        Ok(readable(&rows, failed_from))
    }
}

fn failed_from(row: &AnyRow) -> Result<FailedBmc> {
    let reading = Reading::new(row, BmcRow::TABLE, BmcRow::KEY);
    let Json(progress): Json<BmcProgress> = reading.get("progress")?;
    Ok(FailedBmc {
        id: reading.get("id")?,
        infra_env_id: reading.get("infra_env_id")?,
        name: reading.get("name")?,
        reason: progress.reason,
    })
}
