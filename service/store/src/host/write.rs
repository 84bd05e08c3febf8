//! Inserts, saves and deletes hosts.

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{Host, NewEvent};
use sqlx::{Any, Row, Transaction};

use super::documents::Documents;
use super::history::{self, HistoryEntry};
use super::membership::{self, Membership};
use super::row::HostRow;
use crate::Result;
use crate::change::{Change, write_change};
use crate::error::{StoreError, failed};
use crate::notify::PendingChanges;
use crate::row::micros;
use crate::store::Store;
use crate::subject::Subject;

const KEY: [&str; 2] = ["id", "infra_env_id"];

/// Columns that are written by polls, too. The newer poll wins.
const POLLED: [&str; 4] = ["checked_in_at", "host_clock", "host_clock_at", "agent_version"];

impl Store {
    /// Stores a new host with its history and events; returns its first version. A deleted record of the same machine in the
    /// same InfraEnv makes room, with its history; its versions are continued, so that no old read fits the new record.
    ///
    /// # Errors
    /// `Missing` when the InfraEnv or the cluster does not exist, `Conflict` when the host does.
    pub async fn insert_host(&self, host: &Host, history: &HistoryEntry, events: &[NewEvent]) -> Result<i64> {
        let documents = Documents::of(host)?;
        let mut transaction = self.writer().await?;
        self.hold_infra_env(&mut transaction, host.infra_env_id).await?;
        let version = match remove_deleted(&mut transaction, host).await? {
            Some(last) => last + 1,
            None => 1,
        };
        let values = HostRow::of(host, version).values(self.vault())?;
        let sql = format!("{} ON CONFLICT DO NOTHING", values.insert());
        let inserted = values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a new host"))?;
        if inserted.rows_affected() == 0 {
            return Err(conflict(host));
        }
        documents.write(&mut transaction, self.vault(), host).await?;
        let change = HostChange::of(host, version, Some(history), events);
        self.commit_host_change(transaction, change).await?;
        Ok(version)
    }

    /// Writes a host that was read as `host.version`; returns its new version. With `history` when its state changed.
    /// `checked_in_at` never goes back: a check-in that was flushed since the read stays.
    ///
    /// # Errors
    /// `Conflict` when another write came first, or the host is deleted; `Missing` when it joins a cluster that does not exist, or
    /// begins to be installed into a deleted one.
    pub async fn save_host(
        &self,
        host: &Host,
        history: Option<&HistoryEntry>,
        events: &[NewEvent],
    ) -> Result<i64> {
        let version = host.version + 1;
        let documents = Documents::of(host)?;
        let values = HostRow::of(host, version)
            .values(self.vault())?
            .without(&["created_at"]);
        let polled_at = values.parameter("checked_in_at");
        let sql = values.update(&KEY, |column, new| {
            if POLLED.contains(&column) {
                format!("CASE WHEN checked_in_at > {polled_at} THEN {column} ELSE {new} END")
            } else {
                new
            }
        });
        let mut transaction = self.writer().await?;
        let updated = values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await
            .map_err(failed("saving a host"))?;
        if updated.rows_affected() == 0 {
            return Err(conflict(host));
        }
        documents.write(&mut transaction, self.vault(), host).await?;
        let change = HostChange::of(host, version, history, events);
        self.commit_host_change(transaction, change).await?;
        Ok(version)
    }

    /// Deletes a host; returns false when there is none. Its row stays, unseen and without what was known of it, until the machine
    /// registers again.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn delete_host(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        at: Timestamp,
        events: &[NewEvent],
    ) -> Result<bool> {
        let mut transaction = self.writer().await?;
        let row = sqlx::query(
            "UPDATE hosts SET deleted_at = $3, version = version + 1, data = '{}'
             WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NULL RETURNING version",
        )
        .bind(id.to_string())
        .bind(infra_env_id.to_string())
        .bind(micros(at))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(failed("deleting a host"))?;
        let Some(row) = row else { return Ok(false) };
        let version = row.try_get(0).map_err(failed("reading a version"))?;
        Documents::remove(&mut transaction, infra_env_id, id).await?;
        let change = HostChange {
            infra_env_id,
            id,
            membership: None,
            history: None,
            change: Change {
                subject: Subject::Host { infra_env_id, id },
                version,
                at,
                events,
            },
        };
        self.commit_host_change(transaction, change).await?;
        Ok(true)
    }

    /// Keeps an InfraEnv from being deleted while a host or a BMC is added to it.
    ///
    /// # Errors
    /// `Missing` when it does not exist.
    pub(crate) async fn hold_infra_env(
        &self,
        transaction: &mut Transaction<'static, Any>,
        id: InfraEnvId,
    ) -> Result<()> {
        let sql = format!(
            "SELECT id FROM infra_envs WHERE id = $1 AND deleted_at IS NULL{}",
            self.kind().holding()
        );
        let found = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .fetch_optional(&mut **transaction)
            .await
            .map_err(failed("looking for the InfraEnv of a new record"))?;
        match found {
            Some(_) => Ok(()),
            None => Err(StoreError::Missing {
                table: "infra_envs",
                id: id.to_string(),
            }),
        }
    }

    /// Ends a transaction that changed a host: writes what belongs to the change, and commits.
    async fn commit_host_change(
        &self,
        mut transaction: Transaction<'static, Any>,
        host: HostChange<'_>,
    ) -> Result<()> {
        let (id, infra_env_id, change) = (host.id, host.infra_env_id, host.change);
        let mut pending = PendingChanges::default();
        membership::write(
            &mut transaction,
            &mut pending,
            (infra_env_id, id),
            host.membership,
            change.at,
        )
        .await?;
        if let Some(entry) = host.history {
            history::insert(
                &mut transaction,
                self.vault(),
                (infra_env_id, id),
                change.version,
                entry,
            )
            .await?;
        }
        write_change(&mut transaction, &mut pending, self, &change).await?;
        let changing = self.polled().changing((infra_env_id, id));
        pending.commit(transaction, self).await?;
        changing.done();
        Ok(())
    }
}

/// A change of a host, beside its row and its documents.
struct HostChange<'a> {
    infra_env_id: InfraEnvId,
    id: HostId,
    membership: Option<Membership>,
    history: Option<&'a HistoryEntry>,
    change: Change<'a>,
}

impl<'a> HostChange<'a> {
    fn of(host: &Host, version: i64, history: Option<&'a HistoryEntry>, events: &'a [NewEvent]) -> Self {
        Self {
            infra_env_id: host.infra_env_id,
            id: host.id,
            membership: Membership::of(host),
            history,
            change: Change {
                subject: Subject::Host {
                    infra_env_id: host.infra_env_id,
                    id: host.id,
                },
                version,
                at: host.data.updated_at,
                events,
            },
        }
    }
}

/// Removes the deleted record of the same machine in the same InfraEnv, with its history; returns its last version.
async fn remove_deleted(transaction: &mut Transaction<'static, Any>, host: &Host) -> Result<Option<i64>> {
    let row = sqlx::query(
        "DELETE FROM hosts WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NOT NULL RETURNING version",
    )
    .bind(host.id.to_string())
    .bind(host.infra_env_id.to_string())
    .fetch_optional(&mut **transaction)
    .await
    .map_err(failed("making room for a host that comes back"))?;
    let row = match row {
        Some(row) => row,
        // Its row went when it had been deleted for long.
        None => {
            let tombstone = sqlx::query(
                "DELETE FROM host_tombstones WHERE id = $1 AND infra_env_id = $2 RETURNING version",
            )
            .bind(host.id.to_string())
            .bind(host.infra_env_id.to_string())
            .fetch_optional(&mut **transaction)
            .await
            .map_err(failed("making room for a host that comes back"))?;
            match tombstone {
                Some(row) => row,
                None => return Ok(None),
            }
        }
    };
    history::delete(transaction, host.id, host.infra_env_id).await?;
    row.try_get(0).map(Some).map_err(failed("reading a version"))
}

fn conflict(host: &Host) -> StoreError {
    StoreError::Conflict {
        table: HostRow::TABLE,
        id: format!("{}/{}", host.infra_env_id, host.id),
    }
}
