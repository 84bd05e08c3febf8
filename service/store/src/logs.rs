//! Stores logs that hosts and installation controllers upload, in chunks that are written one by one, so that an upload occupies neither
//! memory nor the write lock. An unfinished upload is invisible.
//!
//! Logs of a host that an operator requested belong to no cluster: the column `cluster_id` is empty then.

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::{StoreError, failed};
use crate::row::{Reading, micros};
use crate::statement::{commit, new_id};
use crate::store::Store;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogOwner {
    /// Of a cluster, or of none.
    Host {
        infra_env_id: InfraEnvId,
        host_id: HostId,
    },
    /// The installation controller of a cluster.
    Controller,
}

/// A complete upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLog {
    pub id: String,
    /// `None`: the operator requested them from the host.
    pub cluster_id: Option<ClusterId>,
    pub owner: LogOwner,
    /// Bytes.
    pub size: i64,
    pub chunks: i64,
    pub completed_at: Timestamp,
}

/// An upload in progress.
#[derive(Debug)]
pub struct LogUpload {
    id: String,
    cluster_id: Option<ClusterId>,
    owner: LogOwner,
    size: i64,
    chunks: i64,
}

impl LogUpload {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Bytes so far.
    pub fn size(&self) -> i64 {
        self.size
    }
}

impl Store {
    /// Begins an upload to a cluster, or to none.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn begin_log(
        &self,
        cluster_id: impl Into<Option<ClusterId>>,
        owner: LogOwner,
        now: Timestamp,
    ) -> Result<LogUpload> {
        let (id, cluster_id) = (new_id(), cluster_id.into());
        let (infra_env_id, host_id) = columns(owner);
        let mut transaction = self.writer().await?;
        sqlx::query(
            "INSERT INTO logs (id, cluster_id, host_id, infra_env_id, size, chunks, created_at, completed_at)
             VALUES ($1, $2, $3, $4, 0, 0, $5, NULL)",
        )
        .bind(&id)
        .bind(cluster_column(cluster_id))
        .bind(host_id)
        .bind(infra_env_id)
        .bind(micros(now))
        .execute(&mut *transaction)
        .await
        .map_err(failed("beginning an upload of logs"))?;
        commit(transaction).await?;
        Ok(LogUpload {
            id,
            cluster_id,
            owner,
            size: 0,
            chunks: 0,
        })
    }

    /// Adds a chunk.
    ///
    /// # Errors
    /// When the upload was discarded in between, and those of the database.
    pub async fn append_log(&self, upload: &mut LogUpload, content: &[u8]) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query("INSERT INTO log_chunks (log_id, number, content) VALUES ($1, $2, $3)")
            .bind(&upload.id)
            .bind(upload.chunks)
            .bind(content)
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a part of logs"))?;
        commit(transaction).await?;
        upload.chunks += 1;
        upload.size += i64::try_from(content.len()).unwrap_or(i64::MAX);
        Ok(())
    }

    /// Makes an upload visible in place of the last one of the same owner.
    ///
    /// # Errors
    /// `Conflict` when the upload was discarded in between.
    pub async fn finish_log(&self, upload: LogUpload, now: Timestamp) -> Result<()> {
        let (infra_env_id, host_id) = columns(upload.owner);
        let mut transaction = self.writer().await?;
        sqlx::query(
            "DELETE FROM logs WHERE cluster_id = $1 AND COALESCE(host_id, '') = COALESCE($2, '') AND completed_at IS NOT NULL
             AND (cluster_id <> '' OR infra_env_id = $3)",
        )
        .bind(cluster_column(upload.cluster_id))
        .bind(host_id)
        .bind(infra_env_id)
        .execute(&mut *transaction)
        .await
        .map_err(failed("removing older logs"))?;
        let finished = sqlx::query(
            "UPDATE logs SET size = $2, chunks = $3, completed_at = $4 WHERE id = $1 AND completed_at IS NULL",
        )
        .bind(&upload.id)
        .bind(upload.size)
        .bind(upload.chunks)
        .bind(micros(now))
        .execute(&mut *transaction)
        .await
        .map_err(failed("finishing an upload of logs"))?;
        if finished.rows_affected() == 0 {
            return Err(StoreError::Conflict {
                table: "logs",
                id: upload.id,
            });
        }
        commit(transaction).await
    }

    /// Discards an upload, by its id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn discard_log(&self, id: &str) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query("DELETE FROM logs WHERE id = $1")
            .bind(id)
            .execute(&mut *transaction)
            .await
            .map_err(failed("discarding an upload of logs"))?;
        commit(transaction).await
    }

    /// Discards unfinished uploads that began before `before`: their senders have stopped. Returns how many.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn discard_unfinished_logs(&self, before: Timestamp) -> Result<u64> {
        let unfinished = "FROM logs WHERE completed_at IS NULL AND created_at < $1";
        let any = {
            let mut connection = self.reader().await?;
            sqlx::query(sqlx::AssertSqlSafe(format!("SELECT id {unfinished} LIMIT 1")))
                .bind(micros(before))
                .fetch_optional(&mut *connection)
                .await
                .map_err(failed("looking for unfinished logs"))?
        };
        if any.is_none() {
            return Ok(0);
        }
        let mut transaction = self.writer().await?;
        let gone = sqlx::query(sqlx::AssertSqlSafe(format!("DELETE {unfinished}")))
            .bind(micros(before))
            .execute(&mut *transaction)
            .await
            .map_err(failed("discarding unfinished logs"))?
            .rows_affected();
        commit(transaction).await?;
        Ok(gone)
    }

    /// Every complete upload to a cluster, by host, the controller's first.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn list_logs(&self, cluster_id: ClusterId) -> Result<Vec<StoredLog>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT id, cluster_id, host_id, infra_env_id, size, chunks, completed_at FROM logs
             WHERE cluster_id = $1 AND completed_at IS NOT NULL ORDER BY COALESCE(host_id, ''), id",
        )
        .bind(cluster_id.to_string())
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("listing logs"))?;
        rows.iter().map(log_from).collect()
    }

    /// The last complete upload of a host, to a cluster or to none.
    ///
    /// # Errors
    /// `Corrupt` when the row cannot be read.
    pub async fn last_log_of_host(
        &self,
        infra_env_id: InfraEnvId,
        host_id: HostId,
    ) -> Result<Option<StoredLog>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query(
            "SELECT id, cluster_id, host_id, infra_env_id, size, chunks, completed_at FROM logs
             WHERE infra_env_id = $1 AND host_id = $2 AND completed_at IS NOT NULL ORDER BY completed_at DESC, id DESC LIMIT 1",
        )
        .bind(infra_env_id.to_string())
        .bind(host_id.to_string())
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("looking for the logs of a host"))?;
        row.as_ref().map(log_from).transpose()
    }

    /// One chunk of an upload; `None` when it was replaced in between.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn log_chunk(&self, id: &str, number: i64) -> Result<Option<Vec<u8>>> {
        let mut connection = self.reader().await?;
        let row = sqlx::query("SELECT content FROM log_chunks WHERE log_id = $1 AND number = $2")
            .bind(id)
            .bind(number)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading logs"))?;
        row.map(|row| {
            row.try_get::<Vec<u8>, _>(0)
                .map_err(failed("reading a part of logs"))
        })
        .transpose()
    }
}

fn cluster_column(cluster_id: Option<ClusterId>) -> String {
    cluster_id.map(|id| id.to_string()).unwrap_or_default()
}

fn columns(owner: LogOwner) -> (Option<String>, Option<String>) {
    match owner {
        LogOwner::Host {
            infra_env_id,
            host_id,
        } => (Some(infra_env_id.to_string()), Some(host_id.to_string())),
        LogOwner::Controller => (None, None),
    }
}

fn log_from(row: &AnyRow) -> Result<StoredLog> {
    let reading = Reading::new(row, "logs", &["id"]);
    let cluster: String = reading.get("cluster_id")?;
    let host = (reading.get("infra_env_id")?, reading.get("host_id")?);
    Ok(StoredLog {
        id: reading.get("id")?,
        cluster_id: match cluster.is_empty() {
            true => None,
            false => Some(reading.get("cluster_id")?),
        },
        owner: match host {
            (Some(infra_env_id), Some(host_id)) => LogOwner::Host {
                infra_env_id,
                host_id,
            },
            (Some(_) | None, Some(_) | None) => LogOwner::Controller,
        },
        size: reading.get("size")?,
        chunks: reading.get("chunks")?,
        completed_at: reading.get("completed_at")?,
    })
}
