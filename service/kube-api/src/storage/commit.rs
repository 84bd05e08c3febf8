//! Carries out writes one after the other; writes that wait at the same time share a transaction. A commit costs the same for one write as
//! for many, and no client gets a response before its write is committed.

use std::sync::{Arc, OnceLock};

use muster_sql::Kind;
use sqlx::{AnyPool, AssertSqlSafe};
use tokio::sync::{mpsc, oneshot};

use super::batch::Batch;
use super::change::Change;
use super::cipher::Cipher;
use super::error::StorageError;
use super::rows::number;
use super::write::{Write, Written};

/// Maximum number of writes in a transaction.
const MAX_BATCH: usize = 64;
const ATTEMPTED: &str = "writing objects";

type Outcome = Result<Written, StorageError>;

/// Writes that wait for a transaction, each with the channel for its outcome.
pub type Queue = mpsc::Sender<(Write, oneshot::Sender<Outcome>)>;

/// The receiver of committed changes, which gets each in the order of the commits, before the response to its writer.
#[derive(Clone, Default)]
pub struct Audience(Arc<OnceLock<Listener>>);

/// Is called with each change.
type Listener = Box<dyn Fn(&Arc<Change>) + Send + Sync>;

impl Audience {
    /// Calls `listener` with every change from now on. Only the first listener is kept.
    pub fn set(&self, listener: impl Fn(&Arc<Change>) + Send + Sync + 'static) {
        // A second API on this storage reads changes from the database.
        let _ = self.0.set(Box::new(listener));
    }

    fn tell(&self, written: &Written) {
        if let (Some(listener), Written::Done(change, _)) = (self.0.get(), written) {
            listener(change);
        }
    }
}

impl std::fmt::Debug for Audience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audience")
            .field("is_set", &self.0.get().is_some())
            .finish()
    }
}

/// Starts the task that writes. It ends when the queue is dropped.
pub fn start(kind: Kind, writers: AnyPool, cipher: Arc<dyn Cipher>, audience: Audience) -> Queue {
    let (queue, mut waiting) = mpsc::channel(MAX_BATCH);
    tokio::spawn(async move {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
            let (writes, callers): (Vec<Write>, Vec<oneshot::Sender<Outcome>>) = batch.drain(..).unzip();
            match commit(kind, &writers, &*cipher, writes).await {
                Ok(outcomes) => {
                    for (caller, outcome) in callers.into_iter().zip(outcomes) {
                        // The caller may have been cancelled; the write is committed all the same, and watches receive it.
                        audience.tell(&outcome);
                        let _ = caller.send(Ok(outcome));
                    }
                }
                Err(error) => {
                    let error = StorageError::unavailable(ATTEMPTED)(error);
                    for caller in callers {
                        let _ = caller.send(Err(error.clone()));
                    }
                }
            }
        }
    });
    queue
}

/// Queues a write and waits for its outcome.
pub async fn enqueue(queue: &Queue, write: Write) -> Outcome {
    let ended = || StorageError::unavailable(ATTEMPTED)(sqlx::Error::PoolClosed);
    let (caller, outcome) = oneshot::channel();
    queue.send((write, caller)).await.map_err(|_| ended())?;
    outcome.await.map_err(|_| ended())?
}

/// Carries out all writes or none. A write that fails its precondition is skipped.
async fn commit(
    kind: Kind,
    writers: &AnyPool,
    cipher: &dyn Cipher,
    writes: Vec<Write>,
) -> Result<Vec<Written>, sqlx::Error> {
    let mut transaction = kind.begin_write(writers).await?;
    let lock = format!(
        "SELECT revision FROM kube_revision WHERE id = 1{}",
        kind.locking()
    );
    let row = sqlx::query(AssertSqlSafe(lock))
        .fetch_one(&mut *transaction)
        .await?;
    let before = number(&row, 0)?;
    let mut batch = Batch {
        transaction: &mut transaction,
        kind,
        cipher,
    };
    let (outcomes, revision) = batch.write(writes, before).await?;
    if revision == before {
        transaction.rollback().await?;
        return Ok(outcomes);
    }
    sqlx::query("UPDATE kube_revision SET revision = $1 WHERE id = 1")
        .bind(revision as i64)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(outcomes)
}
