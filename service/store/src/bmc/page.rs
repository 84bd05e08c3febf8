//! BMCs of all InfraEnvs that are there, in windows.

use std::collections::BTreeMap;

use muster_api::bmc::BmcPhase;
use muster_api::ids::InfraEnvId;
use muster_core::record::Bmc;

use super::{BmcRow, bmc_from};
use crate::Result;
use crate::error::failed;
use crate::row::{Reading, readable};
use crate::store::Store;

/// A BMC of a deleted InfraEnv stays until its medium is taken out, and is in no window.
const THERE: &str = "infra_env_id IN (SELECT id FROM infra_envs WHERE deleted_at IS NULL)";

/// Which BMCs are read, and which window of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BmcWindow {
    /// Only those of this InfraEnv.
    pub infra_env_id: Option<InfraEnvId>,
    /// Only those in this phase.
    pub phase: Option<BmcPhase>,
    /// Number of those before the window.
    pub from: u32,
    /// Most in the window.
    pub most: u32,
}

impl Store {
    /// The BMCs of a window, and whether there are more behind it: failed ones first, by name. A row that cannot be read is left out, logged
    /// and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn bmc_window(&self, window: BmcWindow) -> Result<(Vec<Bmc>, bool)> {
        let mut conditions = vec![THERE.to_owned()];
        let mut values = Vec::new();
        let scope = window.infra_env_id.map(|id| ("infra_env_id", id.to_string()));
        let phase = window.phase.map(|phase| ("phase", phase.to_string()));
        for (column, value) in scope.into_iter().chain(phase) {
            values.push(value);
            conditions.push(format!("{column} = ${}", values.len()));
        }
        let sql = format!(
            "SELECT {} FROM bmcs WHERE {} ORDER BY CASE WHEN phase = '{}' THEN 0 ELSE 1 END, name, id LIMIT {} OFFSET {}",
            BmcRow::COLUMNS,
            conditions.join(" AND "),
            BmcPhase::Failed,
            u64::from(window.most) + 1,
            window.from
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(false);
        let query = values.into_iter().fold(query, |query, value| query.bind(value));
        let mut connection = self.reader().await?;
        let mut rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing BMCs"))?;
        let most = usize::try_from(window.most).unwrap_or(usize::MAX);
        let more = rows.len() > most;
        rows.truncate(most);
        Ok((readable(&rows, |row| bmc_from(self.vault(), row)), more))
    }

    /// Number of BMCs by phase, of an InfraEnv or of all that are there.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn count_bmcs_by_phase(
        &self,
        infra_env_id: Option<InfraEnvId>,
    ) -> Result<BTreeMap<BmcPhase, i64>> {
        let condition = match infra_env_id {
            Some(_) => " AND infra_env_id = $1",
            None => "",
        };
        let sql = format!("SELECT phase, COUNT(*) AS bmcs FROM bmcs WHERE {THERE}{condition} GROUP BY phase");
        let query = sqlx::query(sqlx::AssertSqlSafe(sql));
        let query = match infra_env_id {
            Some(id) => query.bind(id.to_string()),
            None => query,
        };
        let mut connection = self.reader().await?;
        let rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("counting BMCs"))?;
        let counted: Vec<(BmcPhase, i64)> = readable(&rows, |row| {
            let reading = Reading::new(row, BmcRow::TABLE, &[]);
            Ok((reading.get("phase")?, reading.get("bmcs")?))
        });
        Ok(counted.into_iter().collect())
    }
}
