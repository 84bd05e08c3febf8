//! Writes the changes of many hosts in one transaction of few statements: hosts that register or report at the same time cost one commit,
//! and one round trip for each statement.

use std::collections::{HashMap, HashSet};
use std::slice;

use muster_api::ids::{HostId, InfraEnvId};
use muster_sql::{Kind, in_parts, push_tuples};
use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};

use super::conflict;
use super::membership::{self, Moved};
use super::queue::Batch;
use super::{deleted, documents};
use crate::Result;
use crate::error::{StoreError, failed};
use crate::event::{Told, insert_told};
use crate::feed::{PendingChanges, Subject, note_changes};
use crate::host::change::{HostKey, HostWrite};
use crate::host::row::{HOST_KEY, HostRow};
use crate::host::{history, polled};
use crate::row::{Reading, Values};
use crate::store::Store;

/// Columns that are written by polls, too. The newer poll wins.
const POLLED: [&str; 4] = ["checked_in_at", "host_clock", "host_clock_at", "agent_version"];

/// The outcome of a change: the host's new version.
type Outcome = Result<i64>;

impl Store {
    /// Writes waiting changes until there are none.
    pub(super) async fn write_waiting_hosts(self) {
        let mut writer = self.host_queue().writer();
        while let Some(batch) = writer.next() {
            self.write_batch(batch).await;
        }
    }

    /// Writes changes together. If that fails, each is written separately, so that one fault affects only its own change and each caller
    /// gets its own error.
    async fn write_batch(&self, mut batch: Batch<'_>) {
        let mut writes = std::mem::take(&mut batch.writes);
        writes.sort_unstable_by_key(|write| write.key);
        let outcomes = match self.write_together(&writes).await {
            Ok(outcomes) => outcomes,
            Err(error) if writes.len() == 1 => vec![Err(error)],
            Err(error) => {
                tracing::debug!(%error, hosts = writes.len(), "hosts could not be written together; each is written alone");
                let alone = |write: HostWrite| {
                    let store = self.clone();
                    tokio::spawn(async move {
                        let outcome = store.write_alone(&write).await;
                        answer(write, outcome);
                    });
                };
                writes.into_iter().for_each(alone);
                return;
            }
        };
        // A caller that waits may change its host again as soon as it has the outcome.
        drop(batch);
        writes
            .into_iter()
            .zip(outcomes)
            .for_each(|(write, outcome)| answer(write, outcome));
    }

    async fn write_alone(&self, write: &HostWrite) -> Outcome {
        let outcomes = self.write_together(slice::from_ref(write)).await?;
        outcomes.into_iter().next().expect("an outcome for each")
    }

    /// Writes changes of different hosts, in the order of their keys. A change that another write preceded gets an outcome with that error;
    /// the others are committed.
    ///
    /// # Errors
    /// Fails if the database does; then none is written.
    async fn write_together(&self, writes: &[HostWrite]) -> Result<Vec<Outcome>> {
        let ordered = match writes.len() {
            1 => None,
            _ => Some(self.host_queue().in_order().await),
        };
        let mut transaction = self.writer().await?;
        if ordered.is_some() && self.kind() == Kind::Postgres {
            // Alone they may wait for longer.
            sqlx::query("SET LOCAL lock_timeout = '1s'")
                .execute(&mut *transaction)
                .await
                .map_err(failed("preparing to write hosts"))?;
        }
        let (new, known): (Vec<&HostWrite>, Vec<&HostWrite>) = writes.iter().partition(|write| write.is_new);
        let mut outcomes = self.insert_rows(&mut transaction, &new).await?;
        outcomes.extend(self.update_rows(&mut transaction, &known).await?);
        let written: Vec<(&HostWrite, i64)> = writes
            .iter()
            .filter_map(|write| Some((write, *outcomes.get(&write.key)?.as_ref().ok()?)))
            .collect();
        if !written.is_empty() {
            self.complete(transaction, &written).await?;
        }
        let outcome = |write: &HostWrite| outcomes.remove(&write.key);
        Ok(writes.iter().filter_map(outcome).collect())
    }

    /// Inserts the rows of new hosts.
    async fn insert_rows(
        &self,
        transaction: &mut Transaction<'static, Any>,
        new: &[&HostWrite],
    ) -> Result<HashMap<HostKey, Outcome>> {
        let mut outcomes = HashMap::new();
        if new.is_empty() {
            return Ok(outcomes);
        }
        let held = self.hold_infra_envs(transaction, new).await?;
        let deleted = deleted::remove(transaction, self.kind(), new).await?;
        let mut rows: Vec<(HostKey, i64, Values)> = Vec::with_capacity(new.len());
        for write in new {
            if !held.contains(&write.key.0) {
                let missing = StoreError::Missing {
                    table: "infra_envs",
                    id: write.key.0.to_string(),
                };
                outcomes.insert(write.key, Err(missing));
                continue;
            }
            let version = deleted.get(&write.key).map_or(write.version, |last| last + 1);
            rows.push((write.key, version, write.row.clone().with_version(version)));
        }
        for part in in_parts(&rows) {
            let mut sql = format!("INSERT INTO hosts ({}) VALUES ", HostRow::COLUMNS);
            push_tuples(&mut sql, self.kind(), part.len(), part[0].2.len());
            sql.push_str(" ON CONFLICT DO NOTHING RETURNING id, infra_env_id");
            let query = sqlx::query(sqlx::AssertSqlSafe(sql));
            let inserted = part
                .iter()
                .fold(query, |query, (_, _, row)| row.clone().bind(query))
                .fetch_all(&mut **transaction)
                .await
                .map_err(failed("storing new hosts"))?;
            let inserted = keys(&inserted)?;
            for (key, version, _) in part {
                outcomes.insert(*key, outcome(*key, *version, &inserted));
            }
        }
        Ok(outcomes)
    }

    /// Keeps InfraEnvs from being deleted while hosts are added to them; returns those that exist.
    async fn hold_infra_envs(
        &self,
        transaction: &mut Transaction<'static, Any>,
        new: &[&HostWrite],
    ) -> Result<HashSet<InfraEnvId>> {
        let mut ids: Vec<InfraEnvId> = new.iter().map(|write| write.key.0).collect();
        ids.dedup();
        let mut held = HashSet::new();
        for id in ids {
            match self.hold_infra_env(transaction, id).await {
                Ok(()) => drop(held.insert(id)),
                Err(StoreError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(held)
    }

    /// Updates the rows of hosts that still have the version with which they were read.
    async fn update_rows(
        &self,
        transaction: &mut Transaction<'static, Any>,
        known: &[&HostWrite],
    ) -> Result<HashMap<HostKey, Outcome>> {
        let mut outcomes = HashMap::new();
        for part in in_parts(known) {
            let query = sqlx::query(sqlx::AssertSqlSafe(update(self.kind(), &part[0].row, part.len())));
            let updated = part
                .iter()
                .fold(query, |query, write| write.row.clone().bind(query))
                .fetch_all(&mut **transaction)
                .await
                .map_err(failed("saving hosts"))?;
            let updated = keys(&updated)?;
            for write in part {
                outcomes.insert(write.key, outcome(write.key, write.version, &updated));
            }
        }
        Ok(outcomes)
    }

    /// Writes history, documents and events of the written hosts, and commits.
    async fn complete(
        &self,
        mut transaction: Transaction<'static, Any>,
        written: &[(&HostWrite, i64)],
    ) -> Result<()> {
        let transacting = &mut transaction;
        let writes: Vec<&HostWrite> = written.iter().map(|(write, _)| *write).collect();
        let mut pending = PendingChanges::default();
        documents::write(transacting, self, &writes).await?;
        // New hosts were in no cluster.
        let moved = writes
            .iter()
            .filter(|write| !write.is_new || write.membership.is_some())
            .map(|write| Moved {
                key: write.key,
                now: write.membership.as_ref(),
                at: write.at,
            });
        let moved: Vec<Moved<'_>> = moved.collect();
        membership::write(transacting, self.kind(), &mut pending, &moved).await?;
        let entries = written
            .iter()
            .filter_map(|(write, version)| Some((write.key, *version, write.history.as_ref()?)));
        history::insert(transacting, self, &entries.collect::<Vec<_>>()).await?;
        let told = writes.iter().flat_map(|write| {
            write.events.iter().map(|event| Told {
                event,
                request_id: write.request_id.as_deref(),
                limits: &write.event_limits,
            })
        });
        insert_told(transacting, self, &told.collect::<Vec<_>>()).await?;
        let changes = written.iter().map(|(write, version)| {
            let (infra_env_id, id) = write.key;
            (Subject::Host { infra_env_id, id }, *version, write.at)
        });
        note_changes(transacting, &mut pending, &changes.collect::<Vec<_>>()).await?;
        let changing: Vec<_> = writes
            .iter()
            .map(|write| self.polled().changing(write.key))
            .collect();
        pending.commit(transaction, self).await?;
        changing.into_iter().for_each(polled::Change::done);
        Ok(())
    }
}

/// A cancelled request no longer waits for the outcome.
fn answer(write: HostWrite, outcome: Outcome) {
    drop(write.answer.send(outcome));
}

fn outcome(key: HostKey, version: i64, written: &HashSet<HostKey>) -> Outcome {
    if written.contains(&key) {
        Ok(version)
    } else {
        Err(conflict(key))
    }
}

fn keys(rows: &[AnyRow]) -> Result<HashSet<HostKey>> {
    let key = |row: &AnyRow| -> Result<(InfraEnvId, HostId)> {
        let reading = Reading::new(row, HostRow::TABLE, HOST_KEY);
        Ok((reading.get("infra_env_id")?, reading.get("id")?))
    };
    rows.iter().map(key).collect()
}

/// Updates hosts that are not deleted, as many as `rows`, with columns like those of `row`.
fn update(kind: Kind, row: &Values, rows: usize) -> String {
    let new = |column: &str| format!("new.column{}", row.place(column));
    let set = row
        .columns()
        .filter(|column| !["id", "infra_env_id"].contains(column));
    let set = set.map(|column| {
        let value = new(column);
        if POLLED.contains(&column) {
            let polled = new("checked_in_at");
            format!(
                "{column} = CASE WHEN hosts.checked_in_at > {polled} THEN hosts.{column} ELSE {value} END"
            )
        } else {
            format!("{column} = {value}")
        }
    });
    let mut sql = format!(
        "UPDATE hosts SET {} FROM (VALUES ",
        set.collect::<Vec<_>>().join(", ")
    );
    push_tuples(&mut sql, kind, rows, row.len());
    sql.push_str(&format!(
        ") AS new WHERE hosts.id = {} AND hosts.infra_env_id = {} AND hosts.version = {} - 1 AND hosts.deleted_at IS NULL \
         RETURNING id, infra_env_id",
        new("id"),
        new("infra_env_id"),
        new("version"),
    ));
    sql
}
