//! Stores jobs over many hosts, with a result for each host.

mod members;
mod run;

use muster_api::ids::{InfraEnvId, JobId};
use muster_api::jobs::{JobAction, JobState};
use muster_api::time::Timestamp;
use muster_sql::in_parts;
use muster_sql::push_tuples;
use sqlx::any::AnyRow;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::failed;
use crate::feed::{PendingChanges, Subject, announce};
use crate::row::{Json, Reading, readable, row};
use crate::store::Store;
use members::MemberRow;

pub use members::{JobMember, MemberResult};

row! {
    HostJobRow of "host_jobs" by [id] {
        id: JobId,
        infra_env_id: Option<InfraEnvId>,
        token_id: Option<String>,
        token_name: Option<String>,
        token_expires_at: Option<Timestamp>,
        action: Json<JobAction>,
        state: JobState,
        reason: String,
        retry_of: Option<JobId>,
        created_at: Timestamp,
        ended_at: Option<Timestamp>,
        total: i64,
        changed: i64,
        already: i64,
        failed: i64,
        claim: String,
        claimed_until: i64,
    }
}

/// A job over many hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostJob {
    pub id: JobId,
    /// The operator that requested it.
    pub requester: JobRequester,
    pub action: JobAction,
    pub state: JobState,
    /// The reason of a job that stopped; else empty.
    pub reason: String,
    pub retry_of: Option<JobId>,
    pub created_at: Timestamp,
    /// `None`: it runs.
    pub ended_at: Option<Timestamp>,
    /// Number of its hosts.
    pub total: i64,
    pub changed: i64,
    pub already: i64,
    pub failed: i64,
}

/// The operator's token by which a job was requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobRequester {
    /// The only InfraEnv that the token opens; `None`: everything.
    pub scope: Option<InfraEnvId>,
    /// `None`: no token was required, or it is of a version before tokens had ids.
    pub token_id: Option<String>,
    pub token_name: Option<String>,
    /// Of a token without an id; `None`: it does not end by itself.
    pub token_expires_at: Option<Timestamp>,
}

/// Jobs that are kept.
pub const MOST_JOBS: i64 = 100;

/// Jobs that run at the same time.
pub const MOST_RUNNING_JOBS: i64 = 10;

impl HostJob {
    pub(crate) fn subject(&self) -> Subject {
        Subject::Job {
            infra_env_id: self.requester.scope,
            id: self.id,
        }
    }
}

impl Store {
    /// Stores a new job with its hosts. The oldest ended ones are deleted if there are too many.
    ///
    /// Returns false, and stores nothing, while [`MOST_RUNNING_JOBS`] run.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn insert_host_job(&self, job: &HostJob, members: &[JobMember]) -> Result<bool> {
        let values = job.row().values(self.vault())?;
        let mut rows = Vec::with_capacity(members.len());
        for member in members {
            rows.push(member.row(job.id).values(self.vault())?);
        }
        let mut transaction = self.writer().await?;
        if running(&mut transaction).await? >= MOST_RUNNING_JOBS {
            return Ok(false);
        }
        let sql = values.insert();
        values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a job"))?;
        for part in in_parts(&rows) {
            let mut sql = format!(
                "INSERT INTO {} ({}) VALUES ",
                MemberRow::TABLE,
                MemberRow::COLUMNS
            );
            push_tuples(&mut sql, self.kind(), part.len(), part[0].len());
            let query = sqlx::query(sqlx::AssertSqlSafe(sql));
            part.iter()
                .cloned()
                .fold(query, |query, row| row.bind(query))
                .execute(&mut *transaction)
                .await
                .map_err(failed("storing the hosts of a job"))?;
        }
        trim(&mut transaction).await?;
        let mut pending = PendingChanges::default();
        announce(&mut transaction, &mut pending, job.subject()).await?;
        pending.commit(transaction, self).await?;
        Ok(true)
    }

    /// The job with this id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn find_host_job(&self, id: JobId) -> Result<Option<HostJob>> {
        let mut connection = self.reader().await?;
        let sql = format!("SELECT {} FROM host_jobs WHERE id = $1", HostJobRow::COLUMNS);
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("looking for a job"))?;
        row.as_ref().map(job_from).transpose()
    }

    /// All jobs, or those of tokens for this InfraEnv alone, newest first. A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_host_jobs(&self, scope: Option<InfraEnvId>) -> Result<Vec<HostJob>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM host_jobs WHERE $1 = '' OR infra_env_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2",
            HostJobRow::COLUMNS
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(scope.map(|id| id.to_string()).unwrap_or_default())
            .bind(MOST_JOBS + MOST_RUNNING_JOBS)
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing jobs"))?;
        Ok(readable(&rows, job_from))
    }
}

async fn running(transaction: &mut Transaction<'static, Any>) -> Result<i64> {
    sqlx::query("SELECT COUNT(*) FROM host_jobs WHERE state = 'running'")
        .fetch_one(&mut **transaction)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(failed("counting jobs that run"))
}

/// Deletes the oldest ended jobs beyond [`MOST_JOBS`].
async fn trim(transaction: &mut Transaction<'static, Any>) -> Result<()> {
    let rows = sqlx::query(
        "SELECT id FROM host_jobs WHERE state <> 'running' AND id NOT IN
             (SELECT id FROM host_jobs ORDER BY created_at DESC, id DESC LIMIT $1)",
    )
    .bind(MOST_JOBS)
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed("looking for the oldest jobs"))?;
    for row in rows {
        let id: String = row.try_get(0).map_err(failed("reading the id of a job"))?;
        for sql in [
            "DELETE FROM host_job_hosts WHERE job_id = $1",
            "DELETE FROM host_jobs WHERE id = $1",
        ] {
            sqlx::query(sql)
                .bind(&id)
                .execute(&mut **transaction)
                .await
                .map_err(failed("deleting the oldest jobs"))?;
        }
    }
    Ok(())
}

impl HostJob {
    fn row(&self) -> HostJobRow {
        let requester = &self.requester;
        HostJobRow {
            id: self.id,
            infra_env_id: requester.scope,
            token_id: requester.token_id.clone(),
            token_name: requester.token_name.clone(),
            token_expires_at: requester.token_expires_at,
            action: Json(self.action.clone()),
            state: self.state,
            reason: self.reason.clone(),
            retry_of: self.retry_of,
            created_at: self.created_at,
            ended_at: self.ended_at,
            total: self.total,
            changed: self.changed,
            already: self.already,
            failed: self.failed,
            claim: String::new(),
            claimed_until: 0,
        }
    }
}

fn job_from(row: &AnyRow) -> Result<HostJob> {
    let row = HostJobRow::read(&Reading::new(row, HostJobRow::TABLE, &["id"]))?;
    Ok(HostJob {
        id: row.id,
        requester: JobRequester {
            scope: row.infra_env_id,
            token_id: row.token_id,
            token_name: row.token_name,
            token_expires_at: row.token_expires_at,
        },
        action: row.action.0,
        state: row.state,
        reason: row.reason,
        retry_of: row.retry_of,
        created_at: row.created_at,
        ended_at: row.ended_at,
        total: row.total,
        changed: row.changed,
        already: row.already,
        failed: row.failed,
    })
}
