//! Stores logs of hosts and installation controllers as they arrive, within the limits of all uploads, and reads them.

use std::time::Duration;

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_store::{LogUpload, Store};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::disk::Disk;
use crate::now;
use crate::records::{LogOwner, StoreError, StoredLog};

/// Most concurrent uploads: the database has one writer at a time.
const UPLOADS: usize = 8;

/// Longest time that an upload waits for others to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// The logs of the service.
pub struct Logs {
    store: Store,
    disk: Option<Disk>,
    /// Most bytes of all logs; the oldest ones are deleted.
    most: Option<i64>,
    uploads: Semaphore,
}

/// Logs that are not stored now.
#[derive(Debug, thiserror::Error)]
pub enum LogsRefused {
    #[error("too many logs are coming at once; try again in a minute")]
    Busy,
    #[error(
        "no logs are taken while the service's disk has {} MiB left, which are kept for hosts; free some space",
        free >> 20
    )]
    NoSpace {
        /// Bytes.
        free: u64,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Logs {
    pub(crate) fn new(store: Store, disk: Option<Disk>, most: Option<i64>) -> Self {
        Self {
            store,
            disk,
            most,
            uploads: Semaphore::new(UPLOADS),
        }
    }

    /// Begins an upload in place of the owner's last one. `cluster_id`: `None` for logs that an operator requested from a host.
    ///
    /// # Errors
    /// [`LogsRefused::Busy`] after [`PATIENCE`].
    pub async fn begin(
        &self,
        cluster_id: Option<ClusterId>,
        owner: LogOwner,
    ) -> Result<Upload<'_>, LogsRefused> {
        let permit = timeout(PATIENCE, self.uploads.acquire()).await;
        let permit = permit.ok().and_then(Result::ok).ok_or(LogsRefused::Busy)?;
        self.check_space()?;
        let begun = self.store.begin_log(cluster_id, owner, now()).await?;
        Ok(Upload {
            logs: self,
            begun: Some(begun),
            _permit: permit,
        })
    }

    /// Refuses logs if the remaining space should be kept for hosts.
    fn check_space(&self) -> Result<(), LogsRefused> {
        let space = self.disk.as_ref().and_then(|disk| disk.space().ok());
        match space.filter(|space| space.is_scarce()) {
            None => Ok(()),
            Some(space) => Err(LogsRefused::NoSpace { free: space.free }),
        }
    }

    /// The complete uploads to a cluster, by host, the controller's first.
    pub async fn of_cluster(&self, id: ClusterId) -> Result<Vec<StoredLog>, StoreError> {
        self.store.list_logs(id).await
    }

    /// The last complete upload of a host.
    pub async fn last_of_host(
        &self,
        infra_env_id: InfraEnvId,
        host_id: HostId,
    ) -> Result<Option<StoredLog>, StoreError> {
        self.store.last_log_of_host(infra_env_id, host_id).await
    }

    /// A chunk of an upload, the first is 0.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the upload was replaced meanwhile.
    pub async fn chunk(&self, log: &StoredLog, number: i64) -> Result<Vec<u8>, StoreError> {
        let chunk = self.store.log_chunk(&log.id, number).await?;
        chunk.ok_or_else(|| StoreError::Conflict {
            table: "logs",
            id: log.id.clone(),
        })
    }
}

/// An upload in progress, which is discarded when it is dropped: the client went away, or it is refused.
pub struct Upload<'a> {
    logs: &'a Logs,
    /// `None` when it is finished.
    begun: Option<LogUpload>,
    _permit: SemaphorePermit<'a>,
}

impl Upload<'_> {
    /// Bytes so far.
    pub fn size(&self) -> i64 {
        self.begun.as_ref().map_or(0, LogUpload::size)
    }

    /// Adds a chunk.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the upload was discarded meanwhile.
    pub async fn append(&mut self, content: &[u8]) -> Result<(), LogsRefused> {
        self.logs.check_space()?;
        if let Some(begun) = &mut self.begun {
            self.logs.store.append_log(begun, content).await?;
        }
        Ok(())
    }

    /// Makes the upload visible in place of the owner's last one. Returns its bytes.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the upload was discarded meanwhile.
    pub async fn finish(mut self) -> Result<i64, LogsRefused> {
        let size = self.size();
        if let Some(begun) = self.begun.take() {
            self.logs.store.finish_log(begun, now()).await?;
        }
        if let Some(most) = self.logs.most {
            self.logs.store.trim_logs(most).await?;
        }
        Ok(size)
    }
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        let Some(begun) = self.begun.take() else { return };
        let store = self.logs.store.clone();
        tokio::spawn(async move {
            // An upload that cannot be removed now is removed when it is old, or space is needed.
            if let Err(error) = store.discard_log(begun.id()).await {
                tracing::warn!(%error, "a broken upload of logs stays for now");
            }
        });
    }
}
