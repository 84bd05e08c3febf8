//! BMCs whose discovery failed, in short.

use muster_api::bmc::BmcPhase;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::record::BmcProgress;
use sqlx::any::AnyRow;

use super::BmcRow;
use crate::Result;
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
        let rows = self
            .list_bmc_columns(
                "id, infra_env_id, name, progress",
                infra_env_id,
                Some(BmcPhase::Failed),
                "listing failed BMCs",
            )
            .await?;
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
