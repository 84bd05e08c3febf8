//! Claims of BMCs that are due: of several replicas one works on a BMC at a time.

use std::time::Duration;

use muster_api::ids::BmcId;
use muster_api::time::Timestamp;
use muster_core::record::Bmc;
use sqlx::Row;

use super::{BmcRow, bmc_from};
use crate::Result;
use crate::error::failed;
use crate::row::{micros, readable};
use crate::statement::commit;
use crate::store::Store;

impl Store {
    /// Claims up to `limit` BMCs that are due, the most overdue first, for `claim`: no other caller gets them before that time has passed
    /// or the claim is released. A row that cannot be read stays claimed for that long, is logged, and holds up no other.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn claim_due_bmcs(
        &self,
        who: &str,
        now: Timestamp,
        claim: Duration,
        limit: u32,
    ) -> Result<Vec<Bmc>> {
        if !self.any_due(now).await? {
            return Ok(Vec::new());
        }
        let due = due("$3");
        let sql = format!(
            "UPDATE bmcs SET claimed_until = $1, claimed_by = $2 WHERE id IN
                 (SELECT id FROM bmcs WHERE {due} AND claimed_until <= $3
                  ORDER BY COALESCE(power_due_at, due_at), id LIMIT $4{})
             RETURNING {}",
            self.kind().skipping(),
            BmcRow::COLUMNS
        );
        let mut transaction = self.writer().await?;
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(until(now, claim))
            .bind(who)
            .bind(micros(now))
            .bind(i64::from(limit))
            .fetch_all(&mut *transaction)
            .await
            .map_err(failed("claiming BMCs"))?;
        let claimed = readable(&rows, |row| bmc_from(self.vault(), row));
        commit(transaction).await?;
        Ok(claimed)
    }

    /// Writes nothing while nothing is due.
    async fn any_due(&self, now: Timestamp) -> Result<bool> {
        let mut connection = self.reader().await?;
        let due = due("$1");
        let row = sqlx::query(sqlx::AssertSqlSafe(format!(
            "SELECT id FROM bmcs WHERE {due} AND claimed_until <= $1 LIMIT 1"
        )))
        .bind(micros(now))
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed("looking for due BMCs"))?;
        Ok(row.is_some())
    }

    /// Prolongs a claim, and returns the BMC's current run; `None`: another process has claimed it, or it is deleted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn renew_bmc_claim(
        &self,
        id: BmcId,
        who: &str,
        now: Timestamp,
        claim: Duration,
    ) -> Result<Option<i64>> {
        let mut transaction = self.writer().await?;
        let row =
            sqlx::query("UPDATE bmcs SET claimed_until = $1 WHERE id = $2 AND claimed_by = $3 RETURNING run")
                .bind(until(now, claim))
                .bind(id.to_string())
                .bind(who)
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failed("prolonging the claim of a BMC"))?;
        commit(transaction).await?;
        row.map(|row| row.try_get(0))
            .transpose()
            .map_err(failed("reading the run of a BMC"))
    }

    /// Releases a claim.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn release_bmc(&self, id: BmcId, who: &str) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query("UPDATE bmcs SET claimed_until = 0, claimed_by = '' WHERE id = $1 AND claimed_by = $2")
            .bind(id.to_string())
            .bind(who)
            .execute(&mut *transaction)
            .await
            .map_err(failed("giving back the claim of a BMC"))?;
        commit(transaction).await
    }

    /// Releases all claims of a process that ends, so that another process can continue immediately.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn release_bmcs_of(&self, who: &str) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query("UPDATE bmcs SET claimed_until = 0, claimed_by = '' WHERE claimed_by = $1")
            .bind(who)
            .execute(&mut *transaction)
            .await
            .map_err(failed("giving back the claims of BMCs"))?;
        commit(transaction).await
    }
}

/// A phase is due, or a request for the machine's power is.
fn due(now: &str) -> String {
    format!(
        "((due_at IS NOT NULL AND due_at <= {now}) OR (power_due_at IS NOT NULL AND power_due_at <= {now}))"
    )
}

fn until(now: Timestamp, claim: Duration) -> i64 {
    micros(now).saturating_add(i64::try_from(claim.as_micros()).unwrap_or(i64::MAX))
}
