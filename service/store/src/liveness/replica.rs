//! Stores when each replica could last receive requests of hosts and write, and the periods in which one could not (deaf times).

use std::time::Duration;

use muster_api::time::Timestamp;
use muster_core::record::DeafTime;
use muster_sql::Kind;
use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};

use crate::Result;
use crate::error::failed;
use crate::row::{Reading, micros};
use crate::statement::commit;
use crate::store::Store;

const BRINGING_BACK: &str = "bringing back times after the clock was set back";

/// A replica of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub id: String,
    /// The last time at which it could receive requests and write.
    pub beat_at: Timestamp,
    /// True when it stopped in order.
    pub has_left: bool,
}

/// All replicas and deaf times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beats {
    pub replicas: Vec<Replica>,
    pub deaf: Vec<DeafTime>,
}

impl Store {
    /// The time of the database's server, which all replicas share; `None` on SQLite, which has no server.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn server_time(&self) -> Result<Option<Timestamp>> {
        if self.kind() == Kind::Sqlite {
            return Ok(None);
        }
        let mut connection = self.reader().await?;
        let row =
            sqlx::query("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now")
                .fetch_one(&mut *connection)
                .await
                .map_err(failed("reading the server's time"))?;
        Reading::new(&row, "the server", &[]).get("now").map(Some)
    }

    /// Writes that `replica` receives requests at `now`, and a deaf time before that; removes deaf times that ended before `horizon`.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn beat(
        &self,
        replica: &str,
        now: Timestamp,
        deaf: Option<DeafTime>,
        horizon: Timestamp,
    ) -> Result<Beats> {
        let mut transaction = self.writer().await?;
        sqlx::query(
            "INSERT INTO replicas (id, beat_at, has_left) VALUES ($1, $2, 0)
             ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, has_left = 0",
        )
        .bind(replica)
        .bind(micros(now))
        .execute(&mut *transaction)
        .await
        .map_err(failed("writing the beat of this replica"))?;
        if let Some(deaf) = deaf {
            add_deaf_time(&mut transaction, deaf).await?;
            sqlx::query("DELETE FROM deaf_times WHERE to_at < $1")
                .bind(micros(horizon))
                .execute(&mut *transaction)
                .await
                .map_err(failed("forgetting old deaf times"))?;
        }
        let replicas = sqlx::query("SELECT id, beat_at, has_left FROM replicas ORDER BY id")
            .fetch_all(&mut *transaction)
            .await
            .map_err(failed("reading the replicas"))?;
        let deaf = sqlx::query("SELECT from_at, to_at FROM deaf_times ORDER BY from_at, to_at")
            .fetch_all(&mut *transaction)
            .await
            .map_err(failed("reading the deaf times"))?;
        commit(transaction).await?;
        Ok(Beats {
            replicas: replicas.iter().map(replica_from).collect::<Result<_>>()?,
            deaf: deaf.iter().map(deaf_from).collect::<Result<_>>()?,
        })
    }

    /// The replicas that are not given up, by id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_replicas(&self) -> Result<Vec<Replica>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query("SELECT id, beat_at, has_left FROM replicas ORDER BY id")
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing the replicas"))?;
        rows.iter().map(replica_from).collect()
    }

    /// Removes a replica that is gone, unless it has sent a beat since; adds `deaf`, the time in which its hosts were not served.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn forget_replica(&self, replica: &Replica, deaf: Option<DeafTime>) -> Result<()> {
        let mut transaction = self.writer().await?;
        let gone = sqlx::query("DELETE FROM replicas WHERE id = $1 AND beat_at = $2")
            .bind(&replica.id)
            .bind(micros(replica.beat_at))
            .execute(&mut *transaction)
            .await
            .map_err(failed("forgetting a replica"))?;
        if let Some(deaf) = deaf.filter(|_| gone.rows_affected() > 0) {
            add_deaf_time(&mut transaction, deaf).await?;
        }
        commit(transaction).await
    }

    /// Writes that a replica shuts down in order at `now`.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn leave(&self, replica: &str, now: Timestamp) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query("UPDATE replicas SET has_left = 1, beat_at = $2 WHERE id = $1")
            .bind(replica)
            .bind(micros(now))
            .execute(&mut *transaction)
            .await
            .map_err(failed("writing that this replica stops"))?;
        commit(transaction).await
    }

    /// Handles a clock that was set back by `by` to `now`: later times in rows become `now`. Every host with a deadline is due immediately;
    /// the host's own clock continued since its last report.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn clock_set_back(&self, now: Timestamp, by: Duration) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query(
            "UPDATE hosts SET checked_in_at = CASE WHEN checked_in_at > $1 THEN $1 ELSE checked_in_at END,
                 host_clock = CASE WHEN host_clock <> 0 AND host_clock_at > $1
                     THEN host_clock + ($1 + $2 - host_clock_at) / 1000000 ELSE host_clock END,
                 host_clock_at = CASE WHEN host_clock_at > $1 THEN $1 ELSE host_clock_at END,
                 due_at = CASE WHEN due_at > $1 THEN $1 ELSE due_at END
             WHERE deleted_at IS NULL AND (checked_in_at > $1 OR due_at > $1 OR host_clock_at > $1)",
        )
        .bind(micros(now))
        .bind(i64::try_from(by.as_micros()).unwrap_or(i64::MAX))
        .execute(&mut *transaction)
        .await
        .map_err(failed(BRINGING_BACK))?;
        for statement in [
            "UPDATE replicas SET beat_at = $1 WHERE beat_at > $1",
            "DELETE FROM deaf_times WHERE to_at > $1",
        ] {
            sqlx::query(statement)
                .bind(micros(now))
                .execute(&mut *transaction)
                .await
                .map_err(failed(BRINGING_BACK))?;
        }
        commit(transaction).await
    }
}

async fn add_deaf_time(transaction: &mut Transaction<'static, Any>, deaf: DeafTime) -> Result<()> {
    sqlx::query("INSERT INTO deaf_times (from_at, to_at) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(micros(deaf.from))
        .bind(micros(deaf.to))
        .execute(&mut **transaction)
        .await
        .map_err(failed("writing a deaf time"))?;
    Ok(())
}

fn replica_from(row: &AnyRow) -> Result<Replica> {
    let reading = Reading::new(row, "replicas", &["id"]);
    Ok(Replica {
        id: reading.get("id")?,
        beat_at: reading.get("beat_at")?,
        has_left: reading.get::<i64>("has_left")? != 0,
    })
}

fn deaf_from(row: &AnyRow) -> Result<DeafTime> {
    let reading = Reading::new(row, "deaf_times", &["from_at"]);
    Ok(DeafTime {
        from: reading.get("from_at")?,
        to: reading.get("to_at")?,
    })
}
