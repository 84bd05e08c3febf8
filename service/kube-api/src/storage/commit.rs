//! Carries out writes one after the other; those that wait together share a transaction. A commit costs the
//! same for one write as for many, and no client is answered before its write is committed.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use sqlx::{Any, AnyPool, Transaction};
use tokio::sync::{mpsc, oneshot};

use super::change::{Change, ChangeKind};
use super::cipher::Cipher;
use super::database::Database;
use super::error::StorageError;
use super::records::{Key, Revision};
use super::rows::number;
use super::write::{Expected, Write, Written, owner_uids};
use crate::object;

/// Maximum number of writes in a transaction.
const MAX_BATCH: usize = 64;
const ATTEMPTED: &str = "writing objects";

type Outcome = Result<Written, StorageError>;

/// Writes that wait for a transaction, each with the channel for its outcome.
pub type Queue = mpsc::Sender<(Write, oneshot::Sender<Outcome>)>;

/// Who hears of each committed change, in the order of the commits, before its writer is answered.
#[derive(Clone, Default)]
pub struct Audience(Arc<OnceLock<Listener>>);

/// Is told of each change.
type Listener = Box<dyn Fn(&Arc<Change>) + Send + Sync>;

impl Audience {
    /// Tells `listener` of every change from now on. There is one: a second is not told.
    pub fn set(&self, listener: impl Fn(&Arc<Change>) + Send + Sync + 'static) {
        // Who comes second reads the database.
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
pub fn start(database: Database, writers: AnyPool, cipher: Arc<dyn Cipher>, audience: Audience) -> Queue {
    let (queue, mut waiting) = mpsc::channel(MAX_BATCH);
    tokio::spawn(async move {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
            let (writes, callers): (Vec<Write>, Vec<oneshot::Sender<Outcome>>) = batch.drain(..).unzip();
            match commit(database, &writers, &*cipher, writes).await {
                Ok(outcomes) => {
                    for (caller, outcome) in callers.into_iter().zip(outcomes) {
                        // The caller may have been cancelled; the write stands all the same, and watches see it.
                        audience.tell(&outcome);
                        let _ = caller.send(Ok(outcome));
                    }
                }
                Err(error) => {
                    let source = Arc::new(error);
                    for caller in callers {
                        let source = source.clone();
                        let _ = caller.send(Err(StorageError::Unavailable {
                            attempted: ATTEMPTED,
                            source,
                        }));
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

/// Carries out all writes or none. A write whose precondition does not hold is skipped.
async fn commit(
    database: Database,
    writers: &AnyPool,
    cipher: &dyn Cipher,
    writes: Vec<Write>,
) -> Result<Vec<Written>, sqlx::Error> {
    let mut transaction = database.begin_write(writers).await?;
    let row = sqlx::query(database.lock_revision())
        .fetch_one(&mut *transaction)
        .await?;
    let before = number(&row, 0)?;
    let mut revision = before;
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        if !is_as_expected(&mut transaction, &write).await? {
            outcomes.push(Written::Unexpected);
            continue;
        }
        revision += 1;
        let (change, object) = write_rows(&mut transaction, cipher, write, revision).await?;
        outcomes.push(Written::Done(Arc::new(change), object));
    }
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

async fn is_as_expected(
    transaction: &mut Transaction<'static, Any>,
    write: &Write,
) -> Result<bool, sqlx::Error> {
    let key = &write.key;
    let row =
        sqlx::query("SELECT revision FROM kube_objects WHERE resource = $1 AND namespace = $2 AND name = $3")
            .bind(key.resource.to_string())
            .bind(key.namespace.clone())
            .bind(key.name.clone())
            .fetch_optional(&mut **transaction)
            .await?;
    let existing = row.map(|row| number(&row, 0)).transpose()?;
    let expected = match write.expected {
        Expected::Absent => None,
        Expected::At(revision) => Some(revision),
    };
    Ok(existing == expected)
}

async fn write_rows(
    transaction: &mut Transaction<'static, Any>,
    cipher: &dyn Cipher,
    write: Write,
    revision: Revision,
) -> Result<(Change, Value), sqlx::Error> {
    let Write {
        key,
        expected,
        previous,
        mut object,
        deletes,
    } = write;
    object::set_resource_version(&mut object, revision);
    let kind = match (deletes, expected) {
        (true, _) => ChangeKind::Deleted,
        (false, Expected::Absent) => ChangeKind::Added,
        (false, Expected::At(_)) => ChangeKind::Modified,
    };
    let (previous, previous_object) = previous.unzip();
    let previous = previous.map(|stored| stored.document);
    let change = Change::new(revision, kind, key, object.to_string().into(), previous)
        .with_parsed(&object, previous_object.as_ref());
    insert_version(transaction, cipher, &change, expected, object::uid(&object)).await?;
    set_current(transaction, &change, object::uid(&object)).await?;
    let old_owners = previous_object.as_ref().map(owner_uids).unwrap_or_default();
    let new_owners = if deletes { Vec::new() } else { owner_uids(&object) };
    if old_owners != new_owners {
        write_owners(transaction, &change.key, &new_owners).await?;
    }
    Ok((change, object))
}

async fn insert_version(
    transaction: &mut Transaction<'static, Any>,
    cipher: &dyn Cipher,
    change: &Change,
    expected: Expected,
    uid: &str,
) -> Result<(), sqlx::Error> {
    let previous = match expected {
        Expected::Absent => 0,
        Expected::At(revision) => revision,
    };
    let document = cipher
        .seal(&change.key, change.revision, &change.document)
        .map_err(sqlx::Error::Encode)?;
    sqlx::query(
        "INSERT INTO kube_versions (revision, resource, namespace, name, uid, change, previous, document) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(change.revision as i64)
    .bind(change.key.resource.to_string())
    .bind(change.key.namespace.clone())
    .bind(change.key.name.clone())
    .bind(uid.to_owned())
    .bind(change.kind.name())
    .bind(previous as i64)
    .bind(document)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// Points the object's row to its new version, or deletes the row.
async fn set_current(
    transaction: &mut Transaction<'static, Any>,
    change: &Change,
    uid: &str,
) -> Result<(), sqlx::Error> {
    let statement = match change.kind {
        ChangeKind::Deleted => {
            "DELETE FROM kube_objects WHERE resource = $1 AND namespace = $2 AND name = $3 AND revision < $4 AND uid = $5"
        }
        ChangeKind::Added | ChangeKind::Modified => {
            "INSERT INTO kube_objects (resource, namespace, name, revision, uid) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (resource, namespace, name) DO UPDATE SET revision = excluded.revision, uid = excluded.uid"
        }
    };
    sqlx::query(statement)
        .bind(change.key.resource.to_string())
        .bind(change.key.namespace.clone())
        .bind(change.key.name.clone())
        .bind(change.revision as i64)
        .bind(uid.to_owned())
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

async fn write_owners(
    transaction: &mut Transaction<'static, Any>,
    key: &Key,
    owners: &[&str],
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM kube_owners WHERE resource = $1 AND namespace = $2 AND name = $3")
        .bind(key.resource.to_string())
        .bind(key.namespace.clone())
        .bind(key.name.clone())
        .execute(&mut **transaction)
        .await?;
    for owner in owners {
        sqlx::query("INSERT INTO kube_owners (owner_uid, resource, namespace, name) VALUES ($1, $2, $3, $4)")
            .bind((*owner).to_owned())
            .bind(key.resource.to_string())
            .bind(key.namespace.clone())
            .bind(key.name.clone())
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}
