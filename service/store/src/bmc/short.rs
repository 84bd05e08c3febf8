//! Lists of BMCs by some of their columns.

use muster_api::bmc::BmcPhase;
use muster_api::ids::InfraEnvId;
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::failed;
use crate::store::Store;

impl Store {
    /// Reads `columns` of the BMCs of an InfraEnv, or of all, in a phase, or in any, by name. Errors name `doing`.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(super) async fn list_bmc_columns(
        &self,
        columns: &str,
        infra_env_id: Option<InfraEnvId>,
        phase: Option<BmcPhase>,
        doing: &'static str,
    ) -> Result<Vec<AnyRow>> {
        let given = [
            ("infra_env_id", infra_env_id.map(|id| id.to_string())),
            ("phase", phase.map(|phase| phase.to_string())),
        ];
        let mut sql = format!("SELECT {columns} FROM bmcs");
        let mut values: Vec<String> = Vec::new();
        for (column, value) in given {
            if let Some(value) = value {
                sql += if values.is_empty() { " WHERE " } else { " AND " };
                values.push(value);
                sql += &format!("{column} = ${}", values.len());
            }
        }
        sql += " ORDER BY name, id";
        let mut connection = self.reader().await?;
        let query = sqlx::query(sqlx::AssertSqlSafe(sql));
        values
            .iter()
            .fold(query, |query, value| query.bind(value.as_str()))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed(doing))
    }
}
