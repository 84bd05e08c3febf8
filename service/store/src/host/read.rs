//! Finds, lists and counts hosts.

mod batch;
mod kube;
mod list;
mod listed;
mod listed_parts;
mod queue;
mod rows;
mod select;

use std::sync::Arc;

use muster_api::host::HostStatus;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::Host;
use muster_core::rules::findings::OF_HEALTH;
use muster_sql::Kind;
use sqlx::Row;

use super::brief::HostBrief;
use super::change::HostKey;
use super::form::HostForm;
use super::found_row::FoundRow;
use super::row::{HOST_KEY, HostRow, SLEEP_CHANGES, SLEEPS, brief_from};
use crate::Result;
use crate::error::failed;
use crate::row::{Reading, readable};
use crate::store::Store;
use select::select_briefs;

pub use listed::ListedHost;
pub use listed_parts::ListedParts;
pub(crate) use queue::{HostReads, ReadQueue};

impl Store {
    /// Number of hosts of an InfraEnv.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn count_hosts(&self, infra_env_id: InfraEnvId) -> Result<i64> {
        let mut connection = self.reader().await?;
        sqlx::query("SELECT COUNT(*) FROM hosts WHERE infra_env_id = $1 AND deleted_at IS NULL")
            .bind(infra_env_id.to_string())
            .fetch_one(&mut *connection)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(failed("counting the hosts of an InfraEnv"))
    }

    /// The host, with its inventory.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_host(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<Host>> {
        let row = self.row_of((infra_env_id, id), HostForm::Whole).await?;
        row.map(|row| self.host_from(&row)).transpose()
    }

    /// The host without its inventory.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_host_brief(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<HostBrief>> {
        let row = self.row_of((infra_env_id, id), HostForm::Brief).await?;
        row.map(|row| brief_from(self.vault(), &row.row)).transpose()
    }

    /// The hosts of this id in all InfraEnvs, without their inventories.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn find_hosts_of_id(&self, id: HostId) -> Result<Vec<HostBrief>> {
        let rows = self.rows_of(id, HostForm::Brief).await?;
        rows.iter()
            .map(|row| brief_from(self.vault(), &row.row))
            .collect()
    }

    async fn row_of(&self, (infra_env_id, id): HostKey, form: HostForm) -> Result<Option<Arc<FoundRow>>> {
        for row in self.rows_of(id, form).await? {
            let of: InfraEnvId = Reading::new(&row.row, HostRow::TABLE, HOST_KEY).get("infra_env_id")?;
            if of == infra_env_id {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// All hosts without their inventories, oldest first; of one InfraEnv when named.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_host_briefs(&self, infra_env_id: Option<InfraEnvId>) -> Result<Vec<HostBrief>> {
        let mut connection = self.reader().await?;
        let sql = select_briefs(match infra_env_id {
            Some(_) => "WHERE infra_env_id = $1 AND deleted_at IS NULL ORDER BY created_at, id",
            None => "WHERE deleted_at IS NULL ORDER BY created_at, id",
        });
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        if let Some(id) = infra_env_id {
            query = query.bind(id.to_string());
        }
        let rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing hosts"))?;
        Ok(readable(&rows, |row| brief_from(self.vault(), row)))
    }

    /// The keys of all hosts with one of these statuses.
    ///
    /// # Errors
    /// `Corrupt` when a key cannot be read.
    pub async fn list_host_keys_in(&self, statuses: &[HostStatus]) -> Result<Vec<(InfraEnvId, HostId)>> {
        let names: Vec<String> = statuses
            .iter()
            .map(|status| format!("'{}'", status.name()))
            .collect();
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT infra_env_id, id FROM hosts WHERE deleted_at IS NULL AND status IN ({}) ORDER BY created_at, id",
            names.join(", ")
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing hosts by status"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "hosts", HOST_KEY);
                Ok((reading.get("infra_env_id")?, reading.get("id")?))
            })
            .collect()
    }

    /// The keys of the hosts that fall asleep or are being woken, found by an index.
    ///
    /// # Errors
    /// `Corrupt` when a key cannot be read.
    pub async fn list_host_keys_of_changing_sleep(&self) -> Result<Vec<(InfraEnvId, HostId)>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT infra_env_id, id FROM hosts WHERE sleep > 0 AND sleep = {SLEEP_CHANGES} AND deleted_at IS NULL ORDER BY infra_env_id, id"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing hosts that fall asleep or wake"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "hosts", HOST_KEY);
                Ok((reading.get("infra_env_id")?, reading.get("id")?))
            })
            .collect()
    }

    /// The InfraEnvs with hosts that sleep, found by an index.
    ///
    /// # Errors
    /// `Corrupt` when an id cannot be read.
    pub async fn list_infra_envs_with_sleep(&self) -> Result<Vec<InfraEnvId>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT DISTINCT infra_env_id FROM hosts WHERE sleep > 0 AND sleep = {SLEEPS} AND deleted_at IS NULL"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing InfraEnvs with hosts that sleep"))?;
        rows.iter()
            .map(|row| Reading::new(row, "hosts", &["infra_env_id"]).get("infra_env_id"))
            .collect()
    }

    /// The hosts, of one InfraEnv if given, with an inventory that has an interface with this MAC address (any case), oldest first. Mostly
    /// one; several when two machines reported the same address.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn find_hosts_by_mac(
        &self,
        infra_env_id: Option<InfraEnvId>,
        mac: &str,
    ) -> Result<Vec<HostBrief>> {
        // Only what a MAC address consists of may reach LIKE.
        if mac.is_empty() || !mac.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':') {
            return Ok(Vec::new());
        }
        let mut connection = self.reader().await?;
        let sql = select_briefs(match infra_env_id {
            Some(_) => {
                "WHERE macs LIKE $1 AND infra_env_id = $2 AND deleted_at IS NULL ORDER BY created_at, id"
            }
            None => "WHERE macs LIKE $1 AND deleted_at IS NULL ORDER BY created_at, id",
        });
        let mut query =
            sqlx::query(sqlx::AssertSqlSafe(sql)).bind(format!("% {} %", mac.to_ascii_lowercase()));
        if let Some(id) = infra_env_id {
            query = query.bind(id.to_string());
        }
        let rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("looking for a MAC address"))?;
        Ok(readable(&rows, |row| brief_from(self.vault(), row)))
    }

    /// Bytes that the inventories of each InfraEnv take as the database stores them, which for PostgreSQL is compressed.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn inventory_sizes(&self) -> Result<Vec<(InfraEnvId, u64)>> {
        let mut connection = self.reader().await?;
        // Neither function reads the documents themselves.
        let size = match self.kind() {
            Kind::Sqlite => "octet_length",
            Kind::Postgres => "pg_column_size",
        };
        let sql = format!(
            "SELECT infra_env_id, CAST(SUM({size}(document)) AS BIGINT) AS bytes FROM host_inventories GROUP BY infra_env_id"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await;
        let rows = rows.map_err(failed("measuring inventories"))?;
        Ok(readable(&rows, |row| {
            let reading = Reading::new(row, "host_inventories", &["infra_env_id"]);
            let bytes: i64 = reading.get("bytes")?;
            Ok((reading.get("infra_env_id")?, bytes.unsigned_abs()))
        }))
    }

    /// Number of hosts in each status, over all InfraEnvs; statuses without hosts are left out.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn count_hosts_by_status(&self) -> Result<Vec<(HostStatus, i64)>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT status, COUNT(*) AS hosts FROM hosts WHERE deleted_at IS NULL GROUP BY status ORDER BY status",
        )
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("counting hosts"))?;
        Ok(readable(&rows, |row| {
            let reading = Reading::new(row, "hosts", &["status"]);
            Ok((reading.get("status")?, reading.get("hosts")?))
        }))
    }

    /// Number of hosts with a finding of each kind of [`OF_HEALTH`], in that order, over all InfraEnvs; found by an index.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn count_unhealthy_hosts(&self) -> Result<Vec<(&'static str, i64)>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT unhealthy, COUNT(*) AS hosts FROM hosts WHERE unhealthy > 0 AND deleted_at IS NULL GROUP BY unhealthy",
        )
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("counting hosts with findings about their health"))?;
        let counts: Vec<(i64, i64)> = readable(&rows, |row| {
            let reading = Reading::new(row, "hosts", &["unhealthy"]);
            Ok((reading.get("unhealthy")?, reading.get("hosts")?))
        });
        let of_bit = |bit: u32| counts.iter().filter(move |(bits, _)| bits & (1_i64 << bit) != 0);
        Ok(OF_HEALTH
            .iter()
            .zip(0_u32..)
            .map(|(kind, bit)| (*kind, of_bit(bit).map(|(_, hosts)| hosts).sum::<i64>()))
            .collect())
    }
}
