//! BMCs in short, without passwords and inventories of their machines.

use muster_api::bmc::BmcPhase;
use muster_api::ids::{BmcId, InfraEnvId};
use sqlx::any::AnyRow;

use super::BmcRow;
use crate::Result;
use crate::row::{Reading, readable};
use crate::store::Store;

/// Name and address of a BMC, and the phase of its discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcName {
    pub id: BmcId,
    pub infra_env_id: InfraEnvId,
    pub name: String,
    /// `HOST[:PORT]`.
    pub address: String,
    pub phase: BmcPhase,
}

impl Store {
    /// The BMCs of an InfraEnv, or of all, by name. A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_bmc_names(&self, infra_env_id: Option<InfraEnvId>) -> Result<Vec<BmcName>> {
        let columns = "id, infra_env_id, name, place, phase";
        let rows = self
            .list_bmc_columns(columns, infra_env_id, None, "listing the names of BMCs")
            .await?;
        Ok(readable(&rows, name_from))
    }
}

fn name_from(row: &AnyRow) -> Result<BmcName> {
    let reading = Reading::new(row, BmcRow::TABLE, BmcRow::KEY);
    let place: String = reading.get("place")?;
    let (address, _) = place.split_once('#').unwrap_or((place.as_str(), ""));
    Ok(BmcName {
        id: reading.get("id")?,
        infra_env_id: reading.get("infra_env_id")?,
        name: reading.get("name")?,
        address: address.to_owned(),
        phase: reading.get("phase")?,
    })
}
