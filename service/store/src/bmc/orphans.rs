//! BMCs of deleted InfraEnvs.

use muster_api::ids::{BmcId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::abandon;
use muster_core::record::Bmc;
use sqlx::{Any, Transaction};

use super::{BmcRow, NOT_UPDATED, bmc_from};
use crate::Result;
use crate::error::failed;
use crate::row::readable;
use crate::store::Store;

/// Deletes the BMCs of an InfraEnv, which is being deleted. Those that hold its image stay until that is taken out.
pub(crate) async fn delete_all(
    store: &Store,
    transaction: &mut Transaction<'static, Any>,
    infra_env_id: InfraEnvId,
    at: Timestamp,
) -> Result<()> {
    let sql = format!("SELECT {} FROM bmcs WHERE infra_env_id = $1", BmcRow::COLUMNS);
    let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(infra_env_id.to_string())
        .fetch_all(&mut **transaction)
        .await
        .map_err(failed("listing the BMCs of an InfraEnv"))?;
    let found = readable(&rows, |row| bmc_from(store.vault(), row));
    let mut kept: Vec<BmcId> = Vec::new();
    for bmc in found.iter().filter_map(|bmc| abandon(bmc, at)) {
        update(store, transaction, &bmc).await?;
        kept.push(bmc.id);
    }
    let kept: Vec<String> = kept.iter().map(|id| format!("'{id}'")).collect();
    let but = match kept.is_empty() {
        true => String::new(),
        false => format!(" AND id NOT IN ({})", kept.join(", ")),
    };
    let sql = format!("DELETE FROM bmcs WHERE infra_env_id = $1{but}");
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(infra_env_id.to_string())
        .execute(&mut **transaction)
        .await
        .map_err(failed("deleting the BMCs of an InfraEnv"))?;
    Ok(())
}

async fn update(store: &Store, transaction: &mut Transaction<'static, Any>, bmc: &Bmc) -> Result<()> {
    let values = BmcRow::of(bmc, bmc.version + 1)
        .values(store.vault())?
        .without(&NOT_UPDATED);
    let sql = values.update_versioned(BmcRow::KEY);
    values
        .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
        .execute(&mut **transaction)
        .await
        .map_err(failed("keeping a BMC until its medium is taken out"))?;
    Ok(())
}
