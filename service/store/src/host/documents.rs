//! Writes what is large of a host to tables of their own: what it reports, of itself and of others, and its bootstrap data.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::{Host, HostReports};
use sqlx::{Any, Row as _, Transaction};

use crate::Result;
use crate::error::failed;
use crate::row::{document, storable};
use crate::vault::{Place, Vault};

/// The documents of a host as JSON text.
pub(super) struct Documents {
    inventory: Option<String>,
    reports: Option<String>,
    bootstrap: Option<String>,
}

impl Documents {
    /// # Errors
    /// `Encode` when one cannot be written as JSON.
    pub(super) fn of(host: &Host) -> Result<Self> {
        let inventory = host.inventory.as_ref();
        let reports = (host.reports != HostReports::default()).then_some(&host.reports);
        Ok(Self {
            inventory: inventory
                .map(|inventory| document("host_inventories", "document", inventory))
                .transpose()?,
            reports: reports
                .map(|reports| document("host_reports", "document", reports))
                .transpose()?,
            bootstrap: (!host.bootstrap_ignition.is_empty())
                .then(|| storable(host.bootstrap_ignition.reveal())),
        })
    }

    /// Removes those of a host that is deleted: its row stays.
    pub(super) async fn remove(
        transaction: &mut Transaction<'static, Any>,
        infra_env_id: InfraEnvId,
        id: HostId,
    ) -> Result<()> {
        for table in [INVENTORIES, REPORTS, BOOTSTRAP] {
            table.remove(transaction, infra_env_id, id).await?;
        }
        Ok(())
    }

    /// Writes or removes the documents of `host`. An unchanged one costs a read.
    pub(super) async fn write(
        self,
        transaction: &mut Transaction<'static, Any>,
        vault: &Vault,
        host: &Host,
    ) -> Result<()> {
        INVENTORIES.write(transaction, host, self.inventory).await?;
        REPORTS.write(transaction, host, self.reports).await?;
        match self.bootstrap {
            Some(text) => write_bootstrap_data(transaction, vault, host, text).await,
            None => BOOTSTRAP.remove(transaction, host.infra_env_id, host.id).await,
        }
    }
}

/// The table of bootstrap data.
pub(super) const BOOTSTRAP_DATA: &str = "host_bootstrap_data";

/// The column of all these tables.
pub(super) const DOCUMENT: &str = "document";

/// Sealed text is another one each time, so what is there is opened and compared.
async fn write_bootstrap_data(
    transaction: &mut Transaction<'static, Any>,
    vault: &Vault,
    host: &Host,
    text: String,
) -> Result<()> {
    let id = format!("{}/{}", host.infra_env_id, host.id);
    let place = Place {
        table: BOOTSTRAP_DATA,
        column: DOCUMENT,
        id: &id,
    };
    if vault.seals() {
        let row =
            sqlx::query("SELECT document FROM host_bootstrap_data WHERE host_id = $1 AND infra_env_id = $2")
                .bind(host.id.to_string())
                .bind(host.infra_env_id.to_string())
                .fetch_optional(&mut **transaction)
                .await
                .map_err(failed("reading bootstrap data"))?;
        let stored = row.and_then(|row| row.try_get::<String, _>(0).ok());
        if stored.is_some_and(|stored| vault.open(&place, stored).is_ok_and(|known| known == text)) {
            return Ok(());
        }
    }
    BOOTSTRAP
        .write(transaction, host, Some(vault.seal(&place, text)?))
        .await
}

/// Statements on the table of one kind of document.
struct Table {
    upsert: &'static str,
    delete: &'static str,
    doing: &'static str,
}

/// The table of that name. `doing` is for errors.
macro_rules! table {
    ($name:literal, $doing:literal) => {
        Table {
            upsert: concat!(
                "INSERT INTO ",
                $name,
                " (host_id, infra_env_id, document) VALUES ($1, $2, $3) ",
                "ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document ",
                "WHERE ",
                $name,
                ".document <> excluded.document"
            ),
            delete: concat!("DELETE FROM ", $name, " WHERE host_id = $1 AND infra_env_id = $2"),
            doing: $doing,
        }
    };
}

const INVENTORIES: Table = table!("host_inventories", "storing an inventory");
const REPORTS: Table = table!("host_reports", "storing what a host reports of others");
const BOOTSTRAP: Table = table!("host_bootstrap_data", "storing bootstrap data");

impl Table {
    async fn write(
        &self,
        transaction: &mut Transaction<'static, Any>,
        host: &Host,
        document: Option<String>,
    ) -> Result<()> {
        let Some(document) = document else {
            return self.remove(transaction, host.infra_env_id, host.id).await;
        };
        sqlx::query(self.upsert)
            .bind(host.id.to_string())
            .bind(host.infra_env_id.to_string())
            .bind(document)
            .execute(&mut **transaction)
            .await
            .map_err(failed(self.doing))?;
        Ok(())
    }

    async fn remove(
        &self,
        transaction: &mut Transaction<'static, Any>,
        infra_env_id: InfraEnvId,
        id: HostId,
    ) -> Result<()> {
        sqlx::query(self.delete)
            .bind(id.to_string())
            .bind(infra_env_id.to_string())
            .execute(&mut **transaction)
            .await
            .map_err(failed(self.doing))?;
        Ok(())
    }
}
