//! Writes polls of hosts in batches.
//!
//! A poll of an idle host changes nothing but the time of its last check-in, so the service keeps that in memory and
//! flushes many at once. A flush does not count as a write of the host (`version` stays), so it never makes a
//! [`Store::save_host`] fail; and a save never moves `checked_in_at` back, so it never undoes a flush.

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_sql::push_tuples;

use crate::Result;
use crate::error::{StoreError, failed};
use crate::host::{HOST_KEY, HostKey};
use crate::row::{Reading, micros, storable};
use crate::statement::commit;
use crate::store::Store;

/// The newest poll of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckIn {
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    pub at: Timestamp,
    /// Time at which the host counts as silent unless it polls again.
    pub silent_at: Timestamp,
    /// The host's clock, seconds since 1970; `None` when not reported.
    pub host_clock: Option<i64>,
    /// `None` when not reported.
    pub agent_version: Option<String>,
}

/// Hosts in one statement: 6 parameters each, below SQLite's 32766.
const AT_ONCE: usize = 1000;

/// On PostgreSQL, two replicas that write the same hosts may lock them in opposite order; the server then aborts one of them.
const ATTEMPTS: u32 = 3;

impl Store {
    /// Writes check-ins, a thousand in a statement. Deleted hosts, and those with a newer stored check-in, are skipped.
    /// `due_at` moves only where it is the end of the silence allowed after the previous check-in (`checked_in_at` + the same
    /// distance as from `at` to `silent_at`): a host that waits for something else keeps its deadline.
    ///
    /// Returns the number of hosts that were written.
    ///
    /// # Errors
    /// Fails if the database does; none of a failed batch is written.
    pub async fn flush_check_ins(&self, check_ins: &[CheckIn]) -> Result<u64> {
        // Sorted by the same order everywhere, so that two writers seldom wait for each other.
        let mut check_ins: Vec<&CheckIn> = check_ins.iter().collect();
        check_ins.sort_unstable_by_key(|check_in| (check_in.infra_env_id, check_in.host_id));
        let mut written = 0;
        for chunk in check_ins.chunks(AT_ONCE) {
            let mut attempt = 1;
            written += loop {
                match self.flush_chunk(chunk).await {
                    Err(StoreError::Unavailable { source, .. })
                        if is_deadlock(&source) && attempt < ATTEMPTS =>
                    {
                        attempt += 1
                    }
                    other => break other?,
                }
            };
        }
        Ok(written)
    }

    async fn flush_chunk(&self, check_ins: &[&CheckIn]) -> Result<u64> {
        let mut sql = String::from(
            "UPDATE hosts SET checked_in_at = poll.column3,
                 due_at = CASE WHEN due_at = checked_in_at + poll.column4 THEN poll.column3 + poll.column4 ELSE due_at END,
                 host_clock = COALESCE(poll.column5, host_clock),
                 host_clock_at = CASE WHEN poll.column5 IS NULL THEN host_clock_at ELSE poll.column3 END,
                 agent_version = COALESCE(poll.column6, agent_version)
             FROM (VALUES ",
        );
        push_tuples(&mut sql, self.kind(), check_ins.len(), 6);
        sql.push_str(
            ") AS poll WHERE hosts.id = poll.column1 AND hosts.infra_env_id = poll.column2
                 AND hosts.deleted_at IS NULL AND hosts.checked_in_at < poll.column3",
        );
        // Each length is a statement text of its own: not worth an entry in the cache of prepared statements.
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).persistent(false);
        for check_in in check_ins {
            query = query
                .bind(check_in.host_id.to_string())
                .bind(check_in.infra_env_id.to_string())
                .bind(micros(check_in.at))
                .bind(micros(check_in.silent_at) - micros(check_in.at))
                .bind(check_in.host_clock)
                .bind(check_in.agent_version.as_deref().map(storable));
        }
        let _alone = self.host_queue().in_any_order().await;
        let mut transaction = self.writer().await?;
        let updated = query
            .execute(&mut *transaction)
            .await
            .map_err(failed("flushing check-ins"))?;
        commit(transaction).await?;
        Ok(updated.rows_affected())
    }

    /// The last check-ins that are stored, of hosts that polled after `since`.
    ///
    /// # Errors
    /// `Corrupt` when one cannot be read.
    pub async fn check_ins_after(&self, since: Timestamp) -> Result<Vec<(HostKey, Timestamp)>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT infra_env_id, id, checked_in_at FROM hosts WHERE deleted_at IS NULL AND checked_in_at > $1",
        )
        .bind(micros(since))
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("reading check-ins"))?;
        let read = |row| {
            let reading = Reading::new(row, "hosts", HOST_KEY);
            let key = (reading.get("infra_env_id")?, reading.get("id")?);
            Ok((key, reading.get("checked_in_at")?))
        };
        rows.iter().map(read).collect()
    }
}

fn is_deadlock(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(|error| error.code())
        .is_some_and(|code| code == "40P01")
}
