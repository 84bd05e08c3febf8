//! BMCs by the hosts that their machines are.

use muster_api::bmc::BmcPhase;
use muster_api::host::HostStatus;
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_core::record::Bmc;

use super::{BmcRow, bmc_from};
use crate::Result;
use crate::error::failed;
use crate::row::readable;
use crate::store::Store;

impl Store {
    /// BMCs with a machine that is a host with one of these statuses, or was one and is being discovered, over all InfraEnvs. A row that
    /// cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_bmcs_of_hosts_in(&self, statuses: &[HostStatus]) -> Result<Vec<Bmc>> {
        let statuses: Vec<String> = statuses
            .iter()
            .map(|status| format!("'{}'", status.name()))
            .collect();
        let ended = [BmcPhase::Discovered, BmcPhase::Failed, BmcPhase::Stopped];
        let ended = ended.map(|phase| format!("'{phase}'"));
        let sql = format!(
            "SELECT {} FROM bmcs WHERE host_id IS NOT NULL AND (phase NOT IN ({}) OR EXISTS
                 (SELECT 1 FROM hosts WHERE hosts.infra_env_id = bmcs.infra_env_id AND hosts.id = bmcs.host_id
                  AND hosts.deleted_at IS NULL AND hosts.status IN ({})))
             ORDER BY id",
            BmcRow::COLUMNS,
            ended.join(", "),
            statuses.join(", ")
        );
        let mut connection = self.reader().await?;
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing BMCs by their hosts"))?;
        Ok(readable(&rows, |row| bmc_from(self.vault(), row)))
    }

    /// BMCs with a machine that is a host, over all InfraEnvs, at most `limit`, in the order of their ids after `after`. A row that cannot be
    /// read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_bmcs_of_hosts(&self, after: Option<BmcId>, limit: u32) -> Result<Vec<Bmc>> {
        let sql = format!(
            "SELECT {} FROM bmcs WHERE host_id IS NOT NULL AND id > $1 ORDER BY id LIMIT $2",
            BmcRow::COLUMNS
        );
        let mut connection = self.reader().await?;
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(after.map(|id| id.to_string()).unwrap_or_default())
            .bind(i64::from(limit))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing the BMCs of hosts"))?;
        Ok(readable(&rows, |row| bmc_from(self.vault(), row)))
    }

    /// The BMC that last had this host as its machine; if there are several, the one that found it last.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_bmc_of_host(&self, infra_env_id: InfraEnvId, host_id: HostId) -> Result<Option<Bmc>> {
        let sql = format!(
            "SELECT {} FROM bmcs WHERE infra_env_id = $1 AND host_id = $2 ORDER BY updated_at DESC LIMIT 1",
            BmcRow::COLUMNS
        );
        let mut connection = self.reader().await?;
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(infra_env_id.to_string())
            .bind(host_id.to_string())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading the BMC of a host"))?;
        row.as_ref().map(|row| bmc_from(self.vault(), row)).transpose()
    }
}
