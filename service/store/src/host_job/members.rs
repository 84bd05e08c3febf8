//! The hosts of jobs.

use muster_api::ids::{HostId, InfraEnvId, JobId};
use muster_api::jobs::JobOutcome;
use muster_api::time::Timestamp;
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::failed;
use crate::row::{Reading, readable, row};
use crate::store::Store;

row! {
    MemberRow of "host_job_hosts" by [job_id] {
        job_id: JobId,
        place: i64,
        infra_env_id: InfraEnvId,
        host_id: HostId,
        pool: String,
        name: String,
        value: String,
        outcome: JobOutcome,
        reason: String,
        ended_at: Option<Timestamp>,
    }
}

/// A host of a job, with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobMember {
    /// In the order of the job, from 1.
    pub place: i64,
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    /// Name of the InfraEnv when the job was made.
    pub pool: String,
    /// At the time when the job was made.
    pub name: String,
    /// Its new name, or the id of its disk; of a host that leaves its cluster, whether its disks are erased. Empty for other actions.
    pub value: String,
    pub outcome: JobOutcome,
    /// The reason of a refusal; else empty.
    pub reason: String,
    /// `None`: it has no result yet.
    pub ended_at: Option<Timestamp>,
}

/// The result for the host at a place of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberResult {
    pub place: i64,
    pub outcome: JobOutcome,
    /// As in [`JobMember`].
    pub reason: String,
}

impl JobMember {
    pub(super) fn row(&self, job_id: JobId) -> MemberRow {
        MemberRow {
            job_id,
            place: self.place,
            infra_env_id: self.infra_env_id,
            host_id: self.host_id,
            pool: self.pool.clone(),
            name: self.name.clone(),
            value: self.value.clone(),
            outcome: self.outcome,
            reason: self.reason.clone(),
            ended_at: self.ended_at,
        }
    }
}

impl Store {
    /// Hosts of a job in its order, after a place, at most `limit`; `only`: those with this outcome. A row that cannot be read is left out,
    /// logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_job_members(
        &self,
        job: JobId,
        only: Option<JobOutcome>,
        after: i64,
        limit: u32,
    ) -> Result<Vec<JobMember>> {
        let outcome = only.map_or_else(String::new, |only| format!(" AND outcome = '{}'", only.name()));
        let sql = format!(
            "SELECT {} FROM host_job_hosts WHERE job_id = $1{outcome} AND place > $2 ORDER BY place LIMIT $3",
            MemberRow::COLUMNS
        );
        let mut connection = self.reader().await?;
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(job.to_string())
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing the hosts of a job"))?;
        Ok(readable(&rows, member_from))
    }
}

fn member_from(row: &AnyRow) -> Result<JobMember> {
    let row = MemberRow::read(&Reading::new(row, MemberRow::TABLE, &["job_id", "host_id"]))?;
    Ok(JobMember {
        place: row.place,
        infra_env_id: row.infra_env_id,
        host_id: row.host_id,
        pool: row.pool,
        name: row.name,
        value: row.value,
        outcome: row.outcome,
        reason: row.reason,
        ended_at: row.ended_at,
    })
}
