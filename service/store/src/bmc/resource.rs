//! BMCs that belong to custom resources are found by these; all are noted when they change.

use muster_api::ids::InfraEnvId;
use muster_core::record::{Bmc, KubeRef, NewEvent};
use sqlx::{Any, Transaction};

use super::{BmcRow, bmc_from};
use crate::Result;
use crate::error::failed;
use crate::feed::{Change, PendingChanges, Subject, write_change};
use crate::row::{readable, storable};
use crate::store::Store;

impl Store {
    /// The BMC that belongs to this custom resource.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_bmc_by_kube(&self, kube: &KubeRef) -> Result<Option<Bmc>> {
        let values = [storable(&kube.namespace), storable(&kube.name)];
        self.find_bmc_where("kube_namespace = $1 AND kube_name = $2", &values)
            .await
    }

    /// The BMC of this name in an InfraEnv.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_bmc_by_name(&self, infra_env_id: InfraEnvId, name: &str) -> Result<Option<Bmc>> {
        let values = [infra_env_id.to_string(), storable(name)];
        self.find_bmc_where("infra_env_id = $1 AND name = $2", &values)
            .await
    }

    pub(super) async fn find_bmc_where(
        &self,
        condition: &'static str,
        values: &[String],
    ) -> Result<Option<Bmc>> {
        let mut connection = self.reader().await?;
        let sql = format!("SELECT {} FROM bmcs WHERE {condition}", BmcRow::COLUMNS);
        let query = sqlx::query(sqlx::AssertSqlSafe(sql));
        let row = values
            .iter()
            .fold(query, |query, value| query.bind(value.as_str()))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading a BMC"))?;
        row.as_ref().map(|row| bmc_from(self.vault(), row)).transpose()
    }

    /// All BMCs that belong to custom resources. A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_bmcs_of_resources(&self) -> Result<Vec<Bmc>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM bmcs WHERE kube_name IS NOT NULL ORDER BY kube_namespace, kube_name",
            BmcRow::COLUMNS
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing BMCs of custom resources"))?;
        Ok(readable(&rows, |row| bmc_from(self.vault(), row)))
    }
}

/// Writes the events of a change, and its outbox row.
pub(super) async fn note(
    transaction: &mut Transaction<'static, Any>,
    pending: &mut PendingChanges,
    store: &Store,
    (bmc, version): (&Bmc, i64),
    events: &[NewEvent],
) -> Result<()> {
    let change = Change {
        subject: Subject::Bmc(bmc.id),
        version,
        at: bmc.updated_at,
        events,
    };
    write_change(transaction, pending, store, &change).await
}
