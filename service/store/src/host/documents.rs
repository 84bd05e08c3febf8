//! Writes what a host reports, of itself and of others, to tables of their own.

use muster_core::record::{Host, HostReports};
use sqlx::{Any, Transaction};

use crate::Result;
use crate::error::failed;
use crate::row::document;

/// Statements on the table of one kind of report.
struct Documents {
    upsert: &'static str,
    delete: &'static str,
    doing: &'static str,
}

const INVENTORIES: Documents = Documents {
    upsert: "INSERT INTO host_inventories (host_id, infra_env_id, document) VALUES ($1, $2, $3)
             ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
             WHERE host_inventories.document <> excluded.document",
    delete: "DELETE FROM host_inventories WHERE host_id = $1 AND infra_env_id = $2",
    doing: "storing an inventory",
};

const REPORTS: Documents = Documents {
    upsert: "INSERT INTO host_reports (host_id, infra_env_id, document) VALUES ($1, $2, $3)
             ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
             WHERE host_reports.document <> excluded.document",
    delete: "DELETE FROM host_reports WHERE host_id = $1 AND infra_env_id = $2",
    doing: "storing what a host reports of others",
};

/// Writes or removes the inventory and the reports of a host. An unchanged one costs a read.
pub(super) async fn write(transaction: &mut Transaction<'static, Any>, host: &Host) -> Result<()> {
    let inventory = host
        .inventory
        .as_ref()
        .map(|inventory| document("host_inventories", "document", inventory))
        .transpose()?;
    INVENTORIES.write(transaction, host, inventory).await?;
    let reports = if host.reports == HostReports::default() {
        None
    } else {
        Some(document("host_reports", "document", &host.reports)?)
    };
    REPORTS.write(transaction, host, reports).await
}

impl Documents {
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
