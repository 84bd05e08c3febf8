//! Stores which files machines fetched to boot from.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use muster_api::boot::BootFile;
use muster_api::ids::InfraEnvId;
use muster_api::time::Timestamp;
use muster_sql::push_tuples;

use crate::Result;
use crate::error::failed;
use crate::row::{Reading, micros, readable, row};
use crate::statement::commit;
use crate::store::Store;

row! {
    BootRequestRow of "boot_requests" by [id] {
        id: String,
        infra_env_id: InfraEnvId,
        mac: String,
        address: String,
        file: BootFile,
        user_agent: String,
        first_at: Timestamp,
        last_at: Timestamp,
        requests: i64,
        bytes: i64,
        refusal: String,
    }
}

/// Requests of one machine for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootRequests {
    pub infra_env_id: InfraEnvId,
    /// In lower case with colons; empty: not known.
    pub mac: String,
    /// The client's address.
    pub address: String,
    pub file: BootFile,
    pub user_agent: String,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// Number of requests.
    pub requests: i64,
    /// Bytes of the responses that were begun.
    pub bytes: i64,
    /// Empty: the last response was the file.
    pub refusal: String,
}

/// Rows in one statement: 11 parameters each, below SQLite's 32766.
const AT_ONCE: usize = 1000;

/// Rows of one InfraEnv: a client that knows its boot URL can name any number of network cards.
const MOST: i64 = 16_384;

/// A machine that was silent for so long starts a new boot.
pub const NEW_BOOT: Duration = Duration::from_secs(15 * 60);

impl Store {
    /// Adds requests to those that are stored. If an InfraEnv has too many, its oldest are deleted.
    ///
    /// # Errors
    /// Fails if the database does; of the thousand requests of the failed statement none is written.
    pub async fn add_boot_requests(&self, added: &[BootRequests]) -> Result<()> {
        for chunk in added.chunks(AT_ONCE) {
            self.add_chunk(chunk).await?;
        }
        Ok(())
    }

    async fn add_chunk(&self, added: &[BootRequests]) -> Result<()> {
        // Sorted, so that replicas never wait for each other in a circle; and each once, as ON CONFLICT requires.
        let rows: BTreeMap<String, &BootRequests> = added.iter().map(|one| (id_of(one), one)).collect();
        let values = rows.into_iter().map(|(id, one)| one.row(id).values(self.vault()));
        let values = values.collect::<Result<Vec<_>>>()?;
        let mut sql = format!(
            "INSERT INTO {} ({}) VALUES ",
            BootRequestRow::TABLE,
            BootRequestRow::COLUMNS
        );
        push_tuples(&mut sql, self.kind(), values.len(), values[0].len());
        let silence = NEW_BOOT.as_micros();
        let same_boot = format!("excluded.first_at <= boot_requests.last_at + {silence}");
        sql.push_str(&format!(
            " ON CONFLICT (id) DO UPDATE SET
                 user_agent = excluded.user_agent,
                 first_at = CASE WHEN {same_boot} THEN boot_requests.first_at ELSE excluded.first_at END,
                 last_at = CASE WHEN excluded.last_at > boot_requests.last_at THEN excluded.last_at ELSE boot_requests.last_at END,
                 requests = CASE WHEN {same_boot} THEN boot_requests.requests ELSE 0 END + excluded.requests,
                 bytes = CASE WHEN {same_boot} THEN boot_requests.bytes ELSE 0 END + excluded.bytes,
                 refusal = excluded.refusal"
        ));
        // Each length is a statement text of its own: not worth an entry in the cache of prepared statements.
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(false);
        let query = values.into_iter().fold(query, |query, row| row.bind(query));
        let mut transaction = self.writer().await?;
        query
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing requests for boot files"))?;
        let infra_envs: BTreeSet<String> = added.iter().map(|one| one.infra_env_id.to_string()).collect();
        for infra_env in infra_envs {
            sqlx::query(
                "DELETE FROM boot_requests WHERE infra_env_id = $1 AND last_at <=
                     (SELECT last_at FROM boot_requests WHERE infra_env_id = $1 ORDER BY last_at DESC LIMIT 1 OFFSET $2)",
            )
            .bind(infra_env)
            .bind(MOST)
            .execute(&mut *transaction)
            .await
            .map_err(failed("deleting the oldest requests for boot files"))?;
        }
        commit(transaction).await
    }

    /// The InfraEnvs whose machines requested something since that moment.
    ///
    /// # Errors
    /// Fails if the database does. An id that cannot be read is left out.
    pub async fn infra_envs_with_boot_requests(&self, since: Timestamp) -> Result<BTreeSet<InfraEnvId>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query("SELECT DISTINCT infra_env_id FROM boot_requests WHERE last_at >= $1")
            .bind(micros(since))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("looking for InfraEnvs with requests for boot files"))?;
        let found: Vec<InfraEnvId> = readable(&rows, |row| {
            Reading::new(row, BootRequestRow::TABLE, &["infra_env_id"]).get("infra_env_id")
        });
        Ok(found.into_iter().collect())
    }

    /// The requests of an InfraEnv's machines since that moment, newest first.
    ///
    /// # Errors
    /// Fails if the database does. A row that cannot be read is left out.
    pub async fn list_boot_requests(
        &self,
        infra_env_id: InfraEnvId,
        since: Timestamp,
    ) -> Result<Vec<BootRequests>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM boot_requests WHERE infra_env_id = $1 AND last_at >= $2 ORDER BY last_at DESC, id",
            BootRequestRow::COLUMNS
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(infra_env_id.to_string())
            .bind(micros(since))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing requests for boot files"))?;
        Ok(readable(&rows, |row| {
            let row = BootRequestRow::read(&Reading::new(row, BootRequestRow::TABLE, &["id"]))?;
            Ok(BootRequests {
                infra_env_id: row.infra_env_id,
                mac: row.mac,
                address: row.address,
                file: row.file,
                user_agent: row.user_agent,
                first_at: row.first_at,
                last_at: row.last_at,
                requests: row.requests,
                bytes: row.bytes,
                refusal: row.refusal,
            })
        }))
    }
}

impl BootRequests {
    fn row(&self, id: String) -> BootRequestRow {
        let one = self.clone();
        BootRequestRow {
            id,
            infra_env_id: one.infra_env_id,
            mac: one.mac,
            address: one.address,
            file: one.file,
            user_agent: one.user_agent,
            first_at: one.first_at,
            last_at: one.last_at,
            requests: one.requests,
            bytes: one.bytes,
            refusal: one.refusal,
        }
    }
}

fn id_of(one: &BootRequests) -> String {
    format!("{}/{}/{}/{}", one.infra_env_id, one.mac, one.address, one.file)
}
