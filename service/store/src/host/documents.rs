//! Writes what a host reports, of itself and of others, to tables of their own.

use muster_core::record::{Host, HostReports};
use sqlx::{Any, Transaction};

use crate::Result;
use crate::error::failed;
use crate::row::document;

/// The documents of a host as JSON text.
pub(super) struct Documents {
    inventory: Option<String>,
    reports: Option<String>,
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
        })
    }

    /// Writes or removes the documents of `host`. An unchanged one costs a read.
    pub(super) async fn write(self, transaction: &mut Transaction<'static, Any>, host: &Host) -> Result<()> {
        INVENTORIES.write(transaction, host, self.inventory).await?;
        REPORTS.write(transaction, host, self.reports).await
    }
}

/// Statements on the table of one kind of document.
struct Table {
    upsert: &'static str,
    delete: &'static str,
    doing: &'static str,
}

const INVENTORIES: Table = Table {
    upsert: "INSERT INTO host_inventories (host_id, infra_env_id, document) VALUES ($1, $2, $3)
             ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
             WHERE host_inventories.document <> excluded.document",
    delete: "DELETE FROM host_inventories WHERE host_id = $1 AND infra_env_id = $2",
    doing: "storing an inventory",
};

const REPORTS: Table = Table {
    upsert: "INSERT INTO host_reports (host_id, infra_env_id, document) VALUES ($1, $2, $3)
             ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
             WHERE host_reports.document <> excluded.document",
    delete: "DELETE FROM host_reports WHERE host_id = $1 AND infra_env_id = $2",
    doing: "storing what a host reports of others",
};

impl Table {
    async fn write(
        &self,
        transaction: &mut Transaction<'static, Any>,
        host: &Host,
        document: Option<String>,
    ) -> Result<()> {
        let query = match document {
            Some(document) => sqlx::query(self.upsert)
                .bind(host.id.to_string())
                .bind(host.infra_env_id.to_string())
                .bind(document),
            None => sqlx::query(self.delete)
                .bind(host.id.to_string())
                .bind(host.infra_env_id.to_string()),
        };
        query
            .execute(&mut **transaction)
            .await
            .map_err(failed(self.doing))?;
        Ok(())
    }
}
