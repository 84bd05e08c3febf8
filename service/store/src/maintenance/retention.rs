//! Deletes old rows, in small transactions, and returns their space to the disk.

use muster_api::time::Timestamp;
use muster_sql::Kind;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::failed;
use crate::open::SQLITE_SETTINGS;
use crate::row::micros;
use crate::statement::commit;
use crate::store::Store;

/// Kinds of rows that are deleted when they are old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aging {
    /// Events, by their time.
    Events,
    /// Changes of hosts' states, by their time.
    History,
    /// Complete logs, by the time of their upload.
    Logs,
    /// Requests for boot files, by the time of the last one.
    BootRequests,
    /// Sessions of operators, by the time of their end.
    Sessions,
    /// Links by which sessions begin, by the time of their end.
    Links,
    /// Jobs over many hosts with the results of their hosts, by the time of their end.
    HostJobs,
    /// Deleted hosts, with their documents, history and logs; a tombstone stays.
    Hosts,
    /// Deleted InfraEnvs without hosts, with the tombstones of their hosts.
    InfraEnvs,
    /// Deleted clusters without hosts that no InfraEnv names, with their logs.
    Clusters,
}

impl Aging {
    /// In deletion order: a kind comes before those that it refers to.
    pub const ALL: [Self; 10] = [
        Self::Events,
        Self::History,
        Self::Logs,
        Self::BootRequests,
        Self::Sessions,
        Self::Links,
        Self::HostJobs,
        Self::Hosts,
        Self::InfraEnvs,
        Self::Clusters,
    ];

    /// Name of the table.
    pub fn table(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::History => "host_history",
            Self::Logs => "logs",
            Self::BootRequests => "boot_requests",
            Self::Sessions => "operator_sessions",
            Self::Links => "operator_links",
            Self::HostJobs => "host_jobs",
            Self::Hosts => "hosts",
            Self::InfraEnvs => "infra_envs",
            Self::Clusters => "clusters",
        }
    }

    /// Rows in one transaction: a log can have hundreds of chunks, and a job thousands of hosts.
    fn batch(self) -> i64 {
        match self {
            Self::Events | Self::History | Self::BootRequests | Self::Sessions | Self::Links => 1000,
            Self::Logs => 4,
            Self::HostJobs => 1,
            Self::Hosts | Self::InfraEnvs | Self::Clusters => 100,
        }
    }

    /// Selects the rows that are older than `$1`.
    fn condition(self) -> &'static str {
        match self {
            Self::Events | Self::History => "at < $1",
            Self::Logs => "completed_at < $1",
            Self::BootRequests => "last_at < $1",
            Self::Sessions | Self::Links => "expires_at < $1",
            Self::HostJobs => "ended_at < $1",
            Self::Hosts => "deleted_at < $1",
            Self::InfraEnvs => {
                "deleted_at < $1 AND NOT EXISTS (SELECT 1 FROM hosts WHERE hosts.infra_env_id = infra_envs.id)"
            }
            Self::Clusters => {
                "deleted_at < $1 AND NOT EXISTS
                     (SELECT 1 FROM hosts WHERE hosts.cluster_id = clusters.id AND hosts.deleted_at IS NULL)
                 AND NOT EXISTS
                     (SELECT 1 FROM infra_envs WHERE infra_envs.cluster_id = clusters.id AND infra_envs.deleted_at IS NULL)"
            }
        }
    }
}

impl Store {
    /// Deletes one batch of rows older than `before`; returns how many, and whether there may be more.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn delete_old(&self, what: Aging, before: Timestamp) -> Result<(u64, bool)> {
        let (table, condition, batch) = (what.table(), what.condition(), what.batch());
        // Nothing is written if there are no old rows.
        if !self.any_old(table, condition, before).await? {
            return Ok((0, false));
        }
        let mut transaction = self.writer().await?;
        let deleted = match what {
            Aging::Hosts => self.delete_old_hosts(&mut transaction, before, batch).await?,
            Aging::Events
            | Aging::History
            | Aging::Logs
            | Aging::BootRequests
            | Aging::Sessions
            | Aging::Links
            | Aging::HostJobs
            | Aging::InfraEnvs
            | Aging::Clusters => {
                let sql = format!(
                    "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {condition} LIMIT $2) RETURNING id"
                );
                let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
                    .bind(micros(before))
                    .bind(batch)
                    .fetch_all(&mut *transaction)
                    .await
                    .map_err(failed("deleting what is old"))?;
                let owned = match what {
                    Aging::InfraEnvs => Some("DELETE FROM host_tombstones WHERE infra_env_id = $1"),
                    Aging::Clusters => Some("DELETE FROM logs WHERE cluster_id = $1"),
                    Aging::HostJobs => Some("DELETE FROM host_job_hosts WHERE job_id = $1"),
                    Aging::Events
                    | Aging::History
                    | Aging::Logs
                    | Aging::BootRequests
                    | Aging::Sessions
                    | Aging::Links
                    | Aging::Hosts => None,
                };
                if let Some(sql) = owned {
                    for row in &rows {
                        let id: String = row.try_get(0).map_err(failed("reading an id"))?;
                        sqlx::query(sql)
                            .bind(id)
                            .execute(&mut *transaction)
                            .await
                            .map_err(failed("deleting what belonged to a record"))?;
                    }
                }
                rows.len()
            }
        };
        commit(transaction).await?;
        let more = i64::try_from(deleted).is_ok_and(|deleted| deleted >= batch);
        Ok((deleted as u64, more))
    }

    async fn any_old(&self, table: &str, condition: &str, before: Timestamp) -> Result<bool> {
        let mut connection = self.reader().await?;
        let sql = format!("SELECT 1 FROM {table} WHERE {condition} LIMIT 1");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(micros(before))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("looking for what is old"))?;
        Ok(row.is_some())
    }

    /// A host that registers again meanwhile has replaced its row, which is not found then.
    async fn delete_old_hosts(
        &self,
        transaction: &mut Transaction<'static, Any>,
        before: Timestamp,
        batch: i64,
    ) -> Result<usize> {
        let sql = format!(
            "SELECT id, infra_env_id FROM hosts WHERE deleted_at < $1 ORDER BY deleted_at LIMIT $2{}",
            self.kind().skipping()
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(micros(before))
            .bind(batch)
            .fetch_all(&mut **transaction)
            .await
            .map_err(failed("looking for hosts deleted long ago"))?;
        for row in &rows {
            let id: String = row.try_get(0).map_err(failed("reading an id"))?;
            let infra_env_id: String = row.try_get(1).map_err(failed("reading an id"))?;
            for sql in [
                "INSERT INTO host_tombstones (id, infra_env_id, version)
                     SELECT id, infra_env_id, version FROM hosts WHERE id = $1 AND infra_env_id = $2
                     ON CONFLICT (id, infra_env_id) DO UPDATE SET version = excluded.version",
                "DELETE FROM host_history WHERE host_id = $1 AND infra_env_id = $2",
                "DELETE FROM logs WHERE host_id = $1 AND infra_env_id = $2",
                "DELETE FROM hosts WHERE id = $1 AND infra_env_id = $2",
            ] {
                sqlx::query(sql)
                    .bind(&id)
                    .bind(&infra_env_id)
                    .execute(&mut **transaction)
                    .await
                    .map_err(failed("deleting a host that was deleted long ago"))?;
            }
        }
        Ok(rows.len())
    }

    /// Deletes the oldest complete logs until all together have at most `total` bytes; returns how many.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn trim_logs(&self, total: i64) -> Result<u64> {
        let oldest = {
            let mut connection = self.reader().await?;
            sqlx::query("SELECT id, size FROM logs WHERE completed_at IS NOT NULL ORDER BY completed_at DESC, id DESC")
                .fetch_all(&mut *connection)
                .await
                .map_err(failed("adding up the sizes of logs"))?
        };
        let (mut kept, mut deleted) = (0, 0);
        for row in oldest {
            let size: i64 = row.try_get(1).map_err(failed("reading the size of logs"))?;
            kept += size;
            if kept <= total {
                continue;
            }
            let id: String = row.try_get(0).map_err(failed("reading an id"))?;
            let mut transaction = self.writer().await?;
            sqlx::query("DELETE FROM logs WHERE id = $1")
                .bind(id)
                .execute(&mut *transaction)
                .await
                .map_err(failed("deleting the oldest logs"))?;
            commit(transaction).await?;
            deleted += 1;
        }
        Ok(deleted)
    }

    /// Returns free pages of SQLite's file to the disk, a bounded number per call, and truncates its log, which may hold deleted values,
    /// unless it is being read at that moment. PostgreSQL does both by itself.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn give_space_back(&self) -> Result<()> {
        if self.kind() == Kind::Postgres {
            return Ok(());
        }
        let (_, writers) = self.pools();
        let mut connection = writers
            .acquire()
            .await
            .map_err(failed("waiting for a connection"))?;
        // At most 40 MB of 4 KB pages.
        sqlx::query("PRAGMA incremental_vacuum(10000)")
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("giving space back"))?;
        // Writes wait while readers of the log are waited for, so none is.
        let emptied = sqlx::raw_sql("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE);")
            .execute(&mut *connection)
            .await;
        let set = sqlx::raw_sql(SQLITE_SETTINGS).execute(&mut *connection).await;
        emptied.and(set).map(drop).map_err(failed("emptying the log"))
    }

    /// Rows of a table.
    ///
    /// # Errors
    /// Fails if the database does, also when counting takes too long.
    pub async fn count_rows(&self, what: Aging) -> Result<i64> {
        self.number(&format!("SELECT COUNT(*) FROM {}", what.table()))
            .await
    }

    /// Bytes of the whole database, and of the logs in it.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn sizes(&self) -> Result<(i64, i64)> {
        let whole = match self.kind() {
            Kind::Sqlite => "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
            Kind::Postgres => "SELECT pg_database_size(current_database())",
        };
        let logs = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM logs WHERE completed_at IS NOT NULL";
        Ok((self.number(whole).await?, self.number(logs).await?))
    }

    async fn number(&self, sql: &str) -> Result<i64> {
        let mut connection = self.reader().await?;
        sqlx::query(sqlx::AssertSqlSafe(sql.to_owned()))
            .fetch_one(&mut *connection)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(failed("measuring the database"))
    }
}
