//! Inserts, saves and deletes hosts.

mod batch;
mod deleted;
mod documents;
mod membership;
mod queue;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{Host, NewEvent};
use sqlx::{Any, Row, Transaction};
use tokio::sync::oneshot;

use super::change::{Documents, HistoryEntry, HostKey, HostWrite, Membership};
use super::document_cache::KnownDocuments;
use super::row::HostRow;
use crate::Result;
use crate::error::{StoreError, failed, runtime_ended};
use crate::feed::{Change, PendingChanges, Subject, write_change};
use crate::row::micros;
use crate::store::Store;
use membership::Moved;

pub(crate) use queue::HostQueue;

impl Store {
    /// Stores a new host with its history and events; returns its first version. A deleted record of the same machine in the same InfraEnv
    /// is replaced, with its history; the new record continues its versions, so that no earlier read matches it.
    ///
    /// Concurrent changes of hosts are [written together](batch), and each call returns after the commit.
    ///
    /// # Errors
    /// `Missing` when the InfraEnv or the cluster does not exist, `Conflict` when the host does.
    pub async fn insert_host(&self, host: &Host, history: &HistoryEntry, events: &[NewEvent]) -> Result<i64> {
        self.write_host(host, true, Some(history), events).await
    }

    /// Writes a host that was read as `host.version`; returns its new version. With `history` when its state changed.
    /// `checked_in_at` never decreases: a check-in that was flushed since the read stays.
    ///
    /// # Errors
    /// `Conflict` when another write came first, or the host is deleted; `Missing` when it joins a cluster that does not exist, or begins
    /// to be installed into a deleted one.
    pub async fn save_host(
        &self,
        host: &Host,
        history: Option<&HistoryEntry>,
        events: &[NewEvent],
    ) -> Result<i64> {
        self.write_host(host, false, history, events).await
    }

    /// Queues a change, and waits until it is committed.
    async fn write_host(
        &self,
        host: &Host,
        is_new: bool,
        history: Option<&HistoryEntry>,
        events: &[NewEvent],
    ) -> Result<i64> {
        let version = if is_new { 1 } else { host.version + 1 };
        let mut row = HostRow::of(host, version).values(self.vault())?;
        if !is_new {
            row = row.without(&["created_at"]);
        }
        let key = (host.infra_env_id, host.id);
        let known = self.documents().of_version(key, host.version);
        let documents = Documents::of(host, known.as_ref())?;
        let sizes = documents.sizes(known.as_ref());
        let (answer, answered) = oneshot::channel();
        let write = HostWrite {
            key,
            is_new,
            version,
            at: host.data.updated_at,
            row,
            documents,
            membership: Membership::of(host),
            history: history.cloned(),
            events: events.to_vec(),
            request_id: self.request_id(),
            event_limits: self.shared_event_limits(),
            answer,
        };
        if self.host_queue().add(write) {
            tokio::spawn(self.clone().write_waiting_hosts());
        }
        let version = answered.await.map_err(|_| runtime_ended("writing a host"))??;
        self.documents()
            .keep(host.id, KnownDocuments::of(host, version, sizes));
        Ok(version)
    }

    /// Deletes a host; returns false when it does not exist. Its row stays hidden, without the machine's data, until the machine registers
    /// again.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn delete_host(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        at: Timestamp,
        events: &[NewEvent],
    ) -> Result<bool> {
        self.delete_host_at((infra_env_id, id), None, at, events).await
    }

    /// The same for a host that was read; returns false also when it has changed since.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn delete_host_as_read(&self, host: &Host, at: Timestamp, events: &[NewEvent]) -> Result<bool> {
        let key = (host.infra_env_id, host.id);
        self.delete_host_at(key, Some(host.version), at, events).await
    }

    async fn delete_host_at(
        &self,
        (infra_env_id, id): (InfraEnvId, HostId),
        version: Option<i64>,
        at: Timestamp,
        events: &[NewEvent],
    ) -> Result<bool> {
        let mut transaction = self.writer().await?;
        let row = sqlx::query(
            "UPDATE hosts SET deleted_at = $3, version = version + 1, data = '{}'
             WHERE id = $1 AND infra_env_id = $2 AND deleted_at IS NULL AND version = COALESCE($4, version) RETURNING version",
        )
        .bind(id.to_string())
        .bind(infra_env_id.to_string())
        .bind(micros(at))
        .bind(version)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(failed("deleting a host"))?;
        let Some(row) = row else { return Ok(false) };
        let version = row.try_get(0).map_err(failed("reading a version"))?;
        documents::remove(&mut transaction, self.kind(), (infra_env_id, id)).await?;
        let mut pending = PendingChanges::default();
        let moved = Moved {
            key: (infra_env_id, id),
            now: None,
            at,
        };
        membership::write(&mut transaction, self.kind(), &mut pending, &[moved]).await?;
        let change = Change {
            subject: Subject::Host { infra_env_id, id },
            version,
            at,
            events,
        };
        write_change(&mut transaction, &mut pending, self, &change).await?;
        let changing = self.polled().changing((infra_env_id, id));
        pending.commit(transaction, self).await?;
        changing.done();
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
}

/// The error for a host that another writer changed since it was read.
fn conflict((infra_env_id, id): HostKey) -> StoreError {
    StoreError::Conflict {
        table: HostRow::TABLE,
        id: format!("{infra_env_id}/{id}"),
    }
}
