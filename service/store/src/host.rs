//! Hosts: one record a machine and InfraEnv, its state, its inventory, and the history of both.

mod columns;
mod documents;
mod history;
mod kube;
mod membership;

use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::event::NewEvent;
use muster_core::host::{Host, HostData, HostState};
use sqlx::Row;

use crate::Result;
use crate::change::{insert_events, note_change};
use crate::error::{StoreError, failed};
use crate::notify::PendingChanges;
use crate::outbox::Subject;
use crate::row::{Reading, micros};
use crate::store::Store;
use columns::{BRIEF_COLUMNS, Columns, brief_from};
pub(crate) use columns::{HOST_COLUMNS, HOST_KEY, host_from};
pub use history::{HistoryEntry, HistoryRecord};
use membership::Membership;

/// A host without its inventory: what lists and polls need.
#[derive(Debug, Clone, PartialEq)]
pub struct HostBrief {
    /// As in [`Host`].
    pub id: HostId,
    /// As in [`Host`].
    pub infra_env_id: InfraEnvId,
    /// As in [`Host`].
    pub cluster_id: Option<ClusterId>,
    /// As in [`Host`].
    pub state: HostState,
    /// As in [`Host`].
    pub version: i64,
    /// As in [`Host`].
    pub due_at: Option<Timestamp>,
    /// As in [`Host`].
    pub checked_in_at: Timestamp,
    /// As in [`Host`].
    pub data: HostData,
    /// Whether there is an inventory.
    pub has_inventory: bool,
    /// The name in the inventory; empty when unknown.
    pub reported_hostname: String,
}

impl Store {
    /// Stores a new host with its history and events, and answers its first version. A deleted record of the same machine in
    /// the same InfraEnv makes room, with its history; its versions are continued, so that nobody's old read fits the new one.
    ///
    /// # Errors
    /// `Missing` when the InfraEnv or the cluster does not exist, `Conflict` when the host does.
    pub async fn insert_host(&self, host: &Host, history: &HistoryEntry, events: &[NewEvent]) -> Result<i64> {
        let (id, infra_env_id) = (host.id.to_string(), host.infra_env_id.to_string());
        let columns = Columns::of(host)?;
        let mut transaction = self.writer().await?;
        // Held, so that it cannot be deleted while a host moves in.
        let sql = format!(
            "SELECT id FROM infra_envs WHERE id = $1 AND deleted_at IS NULL{}",
            self.kind().holding()
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&infra_env_id)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed("looking for the InfraEnv of a new host"))?
            .ok_or_else(|| StoreError::Missing {
                table: "infra_envs",
                id: infra_env_id.clone(),
            })?;
        let before = sqlx::query(
            "DELETE FROM hosts WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NOT NULL RETURNING version",
        )
        .bind(&id)
        .bind(&infra_env_id)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(failed("making room for a host that comes back"))?;
        let version = match before {
            Some(row) => row.try_get::<i64, _>(0).map_err(failed("reading a version"))? + 1,
            None => 1,
        };
        if version > 1 {
            history::forget(&mut transaction, &id, &infra_env_id).await?;
        }
        let inserted = sqlx::query(
            "INSERT INTO hosts (id, infra_env_id, cluster_id, status, version, due_at, checked_in_at, host_clock, agent_version,
                                hostname, macs, state, data, has_inventory, created_at, deleted_at, host_clock_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, NULL, $16)
             ON CONFLICT (id, infra_env_id) DO NOTHING",
        )
        .bind(&id)
        .bind(&infra_env_id)
        .bind(columns.cluster_id)
        .bind(columns.status)
        .bind(version)
        .bind(columns.due_at)
        .bind(columns.checked_in_at)
        .bind(columns.host_clock)
        .bind(columns.agent_version)
        .bind(columns.inventory.hostname)
        .bind(columns.inventory.macs)
        .bind(columns.state)
        .bind(columns.data)
        .bind(i64::from(columns.inventory.document.is_some()))
        .bind(micros(host.data.created_at))
        .bind(columns.host_clock_at)
        .execute(&mut *transaction)
        .await
        .map_err(failed("storing a new host"))?;
        if inserted.rows_affected() == 0 {
            return Err(conflict(&id, &infra_env_id));
        }
        documents::INVENTORIES
            .write(&mut transaction, &id, &infra_env_id, columns.inventory.document)
            .await?;
        documents::REPORTS
            .write(&mut transaction, &id, &infra_env_id, columns.reports)
            .await?;
        let at = host.data.updated_at;
        let mut pending = PendingChanges::default();
        membership::write(
            &mut transaction,
            &mut pending,
            &id,
            &infra_env_id,
            Membership::of(host),
            at,
        )
        .await?;
        history::insert(&mut transaction, host.id, host.infra_env_id, version, history).await?;
        insert_events(&mut transaction, self, events).await?;
        note_change(
            &mut transaction,
            &mut pending,
            subject(host.infra_env_id, host.id),
            version,
            host.data.updated_at,
        )
        .await?;
        let change = self.polled().changing((host.infra_env_id, host.id));
        pending.commit(transaction, self).await?;
        change.done();
        Ok(version)
    }

    /// The host, with its inventory.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_host(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<Host>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {HOST_COLUMNS} FROM hosts WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NULL"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .bind(infra_env_id.to_string())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading a host"))?;
        row.as_ref().map(host_from).transpose()
    }

    /// The host without its inventory.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn find_host_brief(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<HostBrief>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {BRIEF_COLUMNS} FROM hosts WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NULL"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(id.to_string())
            .bind(infra_env_id.to_string())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("reading a host"))?;
        row.as_ref().map(brief_from).transpose()
    }

    /// The hosts of an InfraEnv, oldest first.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn list_hosts(&self, infra_env_id: InfraEnvId) -> Result<Vec<Host>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {HOST_COLUMNS} FROM hosts WHERE infra_env_id = $1 AND deleted_at IS NULL ORDER BY created_at, id"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(infra_env_id.to_string())
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing hosts"))?;
        rows.iter().map(host_from).collect()
    }

    /// All hosts without their inventories, oldest first; of one InfraEnv when named.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn list_host_briefs(&self, infra_env_id: Option<InfraEnvId>) -> Result<Vec<HostBrief>> {
        let mut connection = self.reader().await?;
        let of_one = if infra_env_id.is_some() {
            "infra_env_id = $1 AND "
        } else {
            ""
        };
        let sql = format!(
            "SELECT {BRIEF_COLUMNS} FROM hosts WHERE {of_one}deleted_at IS NULL ORDER BY created_at, id"
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        if let Some(id) = infra_env_id {
            query = query.bind(id.to_string());
        }
        let rows = query
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing hosts"))?;
        rows.iter().map(brief_from).collect()
    }

    /// The hosts of an InfraEnv whose inventory has an interface with this MAC address (any case), oldest first. Mostly one;
    /// several when an address was seen in two machines.
    ///
    /// # Errors
    /// `Corrupt` when a row cannot be read.
    pub async fn find_hosts_by_mac(&self, infra_env_id: InfraEnvId, mac: &str) -> Result<Vec<HostBrief>> {
        // Only what a MAC address consists of may reach LIKE.
        if mac.is_empty() || !mac.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':') {
            return Ok(Vec::new());
        }
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {BRIEF_COLUMNS} FROM hosts WHERE infra_env_id = $1 AND deleted_at IS NULL AND macs LIKE $2 \
             ORDER BY created_at, id"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(infra_env_id.to_string())
            .bind(format!("% {} %", mac.to_ascii_lowercase()))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("looking for a MAC address"))?;
        rows.iter().map(brief_from).collect()
    }

    /// How many hosts are in each status, over all InfraEnvs; statuses without a host are left out.
    ///
    /// # Errors
    /// `Corrupt` when a status is unknown.
    pub async fn count_hosts_by_status(&self) -> Result<Vec<(HostStatus, i64)>> {
        let mut connection = self.reader().await?;
        let rows = sqlx::query(
            "SELECT status, COUNT(*) AS hosts FROM hosts WHERE deleted_at IS NULL GROUP BY status ORDER BY status",
        )
        .fetch_all(&mut *connection)
        .await
        .map_err(failed("counting hosts"))?;
        rows.iter()
            .map(|row| {
                let reading = Reading::new(row, "hosts", &["status"]);
                Ok((reading.named("status")?, reading.number("hosts")?))
            })
            .collect()
    }

    /// Writes a host that was read as `host.version` and answers its new version; with `history` when its state changed.
    /// `checked_in_at` never goes back: a check-in that was flushed since the read stays.
    ///
    /// # Errors
    /// `Conflict` when another write came first, or the host is gone; `Missing` when it joins a cluster that is not there, or begins
    /// to be installed into a deleted one.
    pub async fn save_host(
        &self,
        host: &Host,
        history: Option<&HistoryEntry>,
        events: &[NewEvent],
    ) -> Result<i64> {
        let columns = Columns::of(host)?;
        let (id, infra_env_id) = (host.id.to_string(), host.infra_env_id.to_string());
        let mut transaction = self.writer().await?;
        let updated = sqlx::query(
            "UPDATE hosts SET version = version + 1, cluster_id = $4, status = $5, due_at = $6, state = $7, data = $8,
                 host_clock = CASE WHEN checked_in_at > $9 THEN host_clock ELSE $10 END,
                 agent_version = CASE WHEN checked_in_at > $9 THEN agent_version ELSE $11 END,
                 checked_in_at = CASE WHEN checked_in_at > $9 THEN checked_in_at ELSE $9 END,
                 hostname = $12, macs = $13, has_inventory = $14,
                 host_clock_at = CASE WHEN checked_in_at > $9 THEN host_clock_at ELSE $15 END
             WHERE id = $1 AND infra_env_id = $2 AND version = $3 AND deleted_at IS NULL",
        )
        .bind(&id)
        .bind(&infra_env_id)
        .bind(columns.version)
        .bind(columns.cluster_id)
        .bind(columns.status)
        .bind(columns.due_at)
        .bind(columns.state)
        .bind(columns.data)
        .bind(columns.checked_in_at)
        .bind(columns.host_clock)
        .bind(columns.agent_version)
        .bind(columns.inventory.hostname)
        .bind(columns.inventory.macs)
        .bind(i64::from(columns.inventory.document.is_some()))
        .bind(columns.host_clock_at)
        .execute(&mut *transaction)
        .await
        .map_err(failed("saving a host"))?;
        if updated.rows_affected() == 0 {
            return Err(conflict(&id, &infra_env_id));
        }
        documents::INVENTORIES
            .write(&mut transaction, &id, &infra_env_id, columns.inventory.document)
            .await?;
        documents::REPORTS
            .write(&mut transaction, &id, &infra_env_id, columns.reports)
            .await?;
        let at = host.data.updated_at;
        let mut pending = PendingChanges::default();
        membership::write(
            &mut transaction,
            &mut pending,
            &id,
            &infra_env_id,
            Membership::of(host),
            at,
        )
        .await?;
        let version = columns.version + 1;
        if let Some(entry) = history {
            history::insert(&mut transaction, host.id, host.infra_env_id, version, entry).await?;
        }
        insert_events(&mut transaction, self, events).await?;
        note_change(
            &mut transaction,
            &mut pending,
            subject(host.infra_env_id, host.id),
            version,
            at,
        )
        .await?;
        let change = self.polled().changing((host.infra_env_id, host.id));
        pending.commit(transaction, self).await?;
        change.done();
        Ok(version)
    }

    /// Deletes a host; answers false when there is none. Its row stays, unseen, until the machine registers again.
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
            "UPDATE hosts SET deleted_at = $3, version = version + 1
             WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NULL RETURNING version",
        )
        .bind(id.to_string())
        .bind(infra_env_id.to_string())
        .bind(micros(at))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(failed("deleting a host"))?;
        let Some(row) = row else { return Ok(false) };
        let version = row.try_get::<i64, _>(0).map_err(failed("reading a version"))?;
        let mut pending = PendingChanges::default();
        membership::write(
            &mut transaction,
            &mut pending,
            &id.to_string(),
            &infra_env_id.to_string(),
            None,
            at,
        )
        .await?;
        insert_events(&mut transaction, self, events).await?;
        note_change(
            &mut transaction,
            &mut pending,
            subject(infra_env_id, id),
            version,
            at,
        )
        .await?;
        let change = self.polled().changing((infra_env_id, id));
        pending.commit(transaction, self).await?;
        change.done();
        Ok(true)
    }
}

fn subject(infra_env_id: InfraEnvId, id: HostId) -> Subject {
    Subject::Host { infra_env_id, id }
}

fn conflict(id: &str, infra_env_id: &str) -> StoreError {
    StoreError::Conflict {
        table: "hosts",
        id: format!("{infra_env_id}/{id}"),
    }
}
