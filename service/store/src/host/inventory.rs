//! What a host reports of itself, in a table of its own.

use sqlx::{Any, Transaction};

use crate::Result;
use crate::error::failed;

/// Writes or removes the inventory of a host. An unchanged one costs a read.
pub(super) async fn write(
    transaction: &mut Transaction<'static, Any>,
    id: &str,
    infra_env_id: &str,
    document: Option<String>,
) -> Result<()> {
    let query = match document {
        Some(document) => sqlx::query(
            "INSERT INTO host_inventories (host_id, infra_env_id, document) VALUES ($1, $2, $3)
             ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
             WHERE host_inventories.document <> excluded.document",
        )
        .bind(id)
        .bind(infra_env_id)
        .bind(document),
        None => sqlx::query("DELETE FROM host_inventories WHERE host_id = $1 AND infra_env_id = $2")
            .bind(id)
            .bind(infra_env_id),
    };
    query
        .execute(&mut **transaction)
        .await
        .map_err(failed("storing an inventory"))?;
    Ok(())
}
