//! What a host reports, of itself and of others, in tables of their own.

use sqlx::{Any, Transaction};

use crate::Result;
use crate::error::failed;

/// Where one kind of report is kept.
pub(super) struct Documents {
    upsert: &'static str,
    delete: &'static str,
    doing: &'static str,
}

/// What a host reports of itself.
pub(super) const INVENTORIES: Documents = Documents {
    upsert: "INSERT INTO host_inventories (host_id, infra_env_id, document) VALUES ($1, $2, $3)
             ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
             WHERE host_inventories.document <> excluded.document",
    delete: "DELETE FROM host_inventories WHERE host_id = $1 AND infra_env_id = $2",
    doing: "storing an inventory",
};

/// What a host reports of others.
pub(super) const REPORTS: Documents = Documents {
    upsert: "INSERT INTO host_reports (host_id, infra_env_id, document) VALUES ($1, $2, $3)
             ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
             WHERE host_reports.document <> excluded.document",
    delete: "DELETE FROM host_reports WHERE host_id = $1 AND infra_env_id = $2",
    doing: "storing what a host reports of others",
};

impl Documents {
    /// Writes or removes the document of a host. An unchanged one costs a read.
    pub(super) async fn write(
        &self,
        transaction: &mut Transaction<'static, Any>,
        id: &str,
        infra_env_id: &str,
        document: Option<String>,
    ) -> Result<()> {
        let query = match document {
            Some(document) => sqlx::query(self.upsert)
                .bind(id)
                .bind(infra_env_id)
                .bind(document),
            None => sqlx::query(self.delete).bind(id).bind(infra_env_id),
        };
        query
            .execute(&mut **transaction)
            .await
            .map_err(failed(self.doing))?;
        Ok(())
    }
}
