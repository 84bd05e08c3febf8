//! Reads the summaries of inventories, and adds those that are missing.

use std::collections::HashMap;

use muster_api::inventory::Inventory;
use muster_core::query::HardwareSummary;
use muster_sql::{in_parts, push_tuples};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

use super::change::HostKey;
use super::row::DOCUMENT;
use crate::Result;
use crate::error::failed;
use crate::row::{Json, Reading, document, readable};
use crate::statement::commit;
use crate::store::Store;

pub(super) const TABLE: &str = "host_summaries";

/// A summary as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    form: u32,
    hardware: T,
}

/// A pattern of `LIKE` for documents of the present form.
fn present_form() -> String {
    format!("{{\"form\":{},%", HardwareSummary::FORM)
}

fn stored(hardware: &HardwareSummary) -> Result<String> {
    let form = HardwareSummary::FORM;
    document(TABLE, DOCUMENT, &Stored { form, hardware })
}

/// The document of an inventory's summary.
///
/// # Errors
/// `Encode` when it cannot be written as JSON.
pub(super) fn text(inventory: &Inventory) -> Result<String> {
    stored(&HardwareSummary::of(inventory))
}

fn read(row: &AnyRow) -> Result<(HostKey, Stored<HardwareSummary>)> {
    let reading = Reading::new(row, TABLE, &["host_id", "infra_env_id"]);
    let key = (reading.get("infra_env_id")?, reading.get("host_id")?);
    let Json(stored) = reading.get(DOCUMENT)?;
    Ok((key, stored))
}

impl Store {
    /// The summaries of these hosts' inventories, or of all. Hosts without an inventory have none. One of another form, and a row that cannot
    /// be read, are left out.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn host_summaries(
        &self,
        keys: Option<&[HostKey]>,
    ) -> Result<HashMap<HostKey, HardwareSummary>> {
        const SELECT: &str = "SELECT host_id, infra_env_id, document FROM host_summaries";
        let mut connection = self.reader().await?;
        let mut rows = Vec::new();
        match keys {
            None => {
                rows = sqlx::query(SELECT)
                    .fetch_all(&mut *connection)
                    .await
                    .map_err(failed("reading the summaries of hosts"))?;
            }
            Some(keys) => {
                for part in in_parts(keys) {
                    let mut sql = format!("{SELECT} WHERE (host_id, infra_env_id) IN (VALUES ");
                    push_tuples(&mut sql, self.kind(), part.len(), 2);
                    sql.push(')');
                    let query = sqlx::query(sqlx::AssertSqlSafe(sql));
                    let query = part.iter().fold(query, |query, (infra_env_id, id)| {
                        query.bind(id.to_string()).bind(infra_env_id.to_string())
                    });
                    let found = query.fetch_all(&mut *connection).await;
                    rows.extend(found.map_err(failed("reading the summaries of some hosts"))?);
                }
            }
        }
        drop(connection);
        let present = readable(&rows, read).into_iter();
        Ok(present
            .filter(|(_, stored)| stored.form == HardwareSummary::FORM)
            .map(|(key, stored)| (key, stored.hardware))
            .collect())
    }

    /// The hosts with an inventory that has no summary of the present form.
    ///
    /// # Errors
    /// `Corrupt` when a key cannot be read.
    pub async fn hosts_without_summary(&self) -> Result<Vec<HostKey>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT infra_env_id, id FROM hosts WHERE has_inventory = 1 AND deleted_at IS NULL AND NOT EXISTS
                 (SELECT 1 FROM host_summaries WHERE host_summaries.host_id = hosts.id
                  AND host_summaries.infra_env_id = hosts.infra_env_id AND host_summaries.document LIKE $1)
             ORDER BY created_at, id",
        )
        .bind(present_form())
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("looking for inventories without a summary"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "hosts", super::row::HOST_KEY);
                Ok((reading.get("infra_env_id")?, reading.get("id")?))
            })
            .collect()
    }

    /// Adds summaries of inventories that have none of the present form. One that was written since then stays, and a host that was deleted
    /// gets none.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn add_host_summaries(&self, summaries: &[(HostKey, HardwareSummary)]) -> Result<()> {
        let mut transaction = self.writer().await?;
        for part in in_parts(summaries) {
            let mut sql = String::from(
                "INSERT INTO host_summaries (host_id, infra_env_id, document)
                 SELECT added.column1, added.column2, added.column3 FROM (VALUES ",
            );
            push_tuples(&mut sql, self.kind(), part.len(), 3);
            // The pattern has no apostrophe.
            sql.push_str(&format!(
                ") AS added JOIN hosts ON hosts.id = added.column1 AND hosts.infra_env_id = added.column2
                 WHERE hosts.has_inventory = 1 AND hosts.deleted_at IS NULL
                 ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document
                 WHERE host_summaries.document NOT LIKE '{}'",
                present_form()
            ));
            let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
            for ((infra_env_id, id), hardware) in part {
                query = query
                    .bind(id.to_string())
                    .bind(infra_env_id.to_string())
                    .bind(stored(hardware)?);
            }
            query
                .execute(&mut *transaction)
                .await
                .map_err(failed("storing summaries of inventories"))?;
        }
        commit(transaction).await
    }
}
