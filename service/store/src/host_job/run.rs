//! Jobs that run: claimed by one replica at a time, with results as they come.

use std::time::Duration;

use muster_api::ids::JobId;
use muster_api::jobs::{JobOutcome, JobState};
use muster_api::time::Timestamp;
use sqlx::{Any, Transaction};

use super::{HostJob, HostJobRow, MemberResult, job_from};
use crate::Result;
use crate::error::failed;
use crate::feed::{PendingChanges, announce};
use crate::row::{micros, storable};
use crate::statement::commit;
use crate::store::Store;

/// The reason of a job that stopped because its row is of another version.
const UNREADABLE: &str = "this version of the service cannot read it";

impl Store {
    /// Claims the oldest job that runs and that no replica works on, under a name of the claim, for `time`.
    ///
    /// # Errors
    /// Fails if the database does, and if the job cannot be read, which is of a newer version then: it ends, rather than be one that runs
    /// for ever.
    pub async fn claim_host_job(
        &self,
        claim: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<HostJob>> {
        if !self.has_unclaimed_job(now).await? {
            return Ok(None);
        }
        let sql = format!(
            "UPDATE host_jobs SET claim = $1, claimed_until = $2 WHERE id =
                 (SELECT id FROM host_jobs WHERE state = 'running' AND claimed_until <= $3
                  ORDER BY created_at, id LIMIT 1{})
             RETURNING {}",
            self.kind().skipping(),
            HostJobRow::COLUMNS
        );
        let mut transaction = self.writer().await?;
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(claim)
            .bind(after(now, time))
            .bind(micros(now))
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed("claiming a job"))?;
        let job = row.as_ref().map(job_from).transpose();
        if job.is_err() {
            stop_unreadable(&mut transaction, claim, now).await?;
        }
        commit(transaction).await?;
        job
    }

    async fn has_unclaimed_job(&self, now: Timestamp) -> Result<bool> {
        let mut connection = self.reader().await?;
        let row =
            sqlx::query("SELECT id FROM host_jobs WHERE state = 'running' AND claimed_until <= $1 LIMIT 1")
                .bind(micros(now))
                .fetch_optional(&mut *connection)
                .await
                .map_err(failed("looking for a job that runs"))?;
        Ok(row.is_some())
    }

    /// Prolongs a claim to last for `time` from now; false: it is lost, or the job has ended.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn renew_host_job(
        &self,
        id: JobId,
        claim: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<bool> {
        let mut transaction = self.writer().await?;
        let renewed = sqlx::query(
            "UPDATE host_jobs SET claimed_until = $3 WHERE id = $1 AND claim = $2 AND state = 'running'",
        )
        .bind(id.to_string())
        .bind(claim)
        .bind(after(now, time))
        .execute(&mut *transaction)
        .await
        .map_err(failed("prolonging the claim of a job"))?;
        commit(transaction).await?;
        Ok(renewed.rows_affected() > 0)
    }

    /// Ends a claim, so that the job can be claimed at once.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn release_host_job(&self, id: JobId, claim: &str) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query("UPDATE host_jobs SET claimed_until = 0 WHERE id = $1 AND claim = $2")
            .bind(id.to_string())
            .bind(claim)
            .execute(&mut *transaction)
            .await
            .map_err(failed("ending the claim of a job"))?;
        commit(transaction).await
    }

    /// Ends all claims: for a database of which this is the only replica.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn release_host_jobs(&self) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query("UPDATE host_jobs SET claimed_until = 0 WHERE state = 'running' AND claimed_until > 0")
            .execute(&mut *transaction)
            .await
            .map_err(failed("ending the claims of jobs"))?;
        commit(transaction).await
    }

    /// True while a job runs under this claim; false: it has ended, was deleted, or another replica claimed it.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn holds_host_job(&self, id: JobId, claim: &str) -> Result<bool> {
        let mut connection = self.reader().await?;
        let row = sqlx::query("SELECT id FROM host_jobs WHERE id = $1 AND claim = $2 AND state = 'running'")
            .bind(id.to_string())
            .bind(claim)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("looking for the claim of a job"))?;
        Ok(row.is_some())
    }

    /// Writes results of hosts, each once: a host that has a result keeps it.
    ///
    /// # Errors
    /// Fails if the database does; none is written then.
    pub async fn add_job_results(
        &self,
        job: &HostJob,
        results: &[MemberResult],
        at: Timestamp,
    ) -> Result<()> {
        let (mut changed, mut already, mut refused) = (0_i64, 0_i64, 0_i64);
        let mut transaction = self.writer().await?;
        for result in results {
            let written = sqlx::query(
                "UPDATE host_job_hosts SET outcome = $3, reason = $4, ended_at = $5
                 WHERE job_id = $1 AND place = $2 AND outcome = 'pending'",
            )
            .bind(job.id.to_string())
            .bind(result.place)
            .bind(result.outcome.name())
            .bind(storable(&result.reason))
            .bind(micros(at))
            .execute(&mut *transaction)
            .await
            .map_err(failed("writing the result of a host"))?;
            let rows = i64::try_from(written.rows_affected()).unwrap_or(0);
            match result.outcome {
                JobOutcome::Changed => changed += rows,
                JobOutcome::Already => already += rows,
                JobOutcome::Refused => refused += rows,
                JobOutcome::Pending => {}
            }
        }
        sqlx::query(
            "UPDATE host_jobs SET changed = changed + $2, already = already + $3, failed = failed + $4 WHERE id = $1",
        )
        .bind(job.id.to_string())
        .bind(changed)
        .bind(already)
        .bind(refused)
        .execute(&mut *transaction)
        .await
        .map_err(failed("counting the results of a job"))?;
        let mut pending = PendingChanges::default();
        announce(&mut transaction, &mut pending, job.subject()).await?;
        pending.commit(transaction, self).await
    }

    /// Ends a job that runs; false: it has ended already.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn end_host_job(
        &self,
        job: &HostJob,
        state: JobState,
        reason: &str,
        at: Timestamp,
    ) -> Result<bool> {
        let mut transaction = self.writer().await?;
        let ended = sqlx::query(
            "UPDATE host_jobs SET state = $2, reason = $3, ended_at = $4 WHERE id = $1 AND state = 'running'",
        )
        .bind(job.id.to_string())
        .bind(state.name())
        .bind(storable(reason))
        .bind(micros(at))
        .execute(&mut *transaction)
        .await
        .map_err(failed("ending a job"))?;
        let mut pending = PendingChanges::default();
        if ended.rows_affected() > 0 {
            announce(&mut transaction, &mut pending, job.subject()).await?;
        }
        pending.commit(transaction, self).await?;
        Ok(ended.rows_affected() > 0)
    }
}

/// Ends the job with this claim.
async fn stop_unreadable(
    transaction: &mut Transaction<'static, Any>,
    claim: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query("UPDATE host_jobs SET state = $2, reason = $3, ended_at = $4 WHERE claim = $1")
        .bind(claim)
        .bind(JobState::Stopped.name())
        .bind(UNREADABLE)
        .bind(micros(now))
        .execute(&mut **transaction)
        .await
        .map_err(failed("ending a job that cannot be read"))?;
    Ok(())
}

fn after(now: Timestamp, time: Duration) -> i64 {
    micros(now).saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}
