//! Writes: one after the other, those that wait together in one transaction. A commit costs the same for one as for many, and
//! nobody is answered before theirs.

use std::sync::Arc;

use serde_json::Value;
use sqlx::{Any, AnyPool, Transaction};
use tokio::sync::{mpsc, oneshot};

use super::sql::{Database, failed, number};
use super::{Expected, Key, Revision, StorageError, Write, Written, owner_uids};
use crate::log::{Change, ChangeKind};
use crate::object;

/// Writes that share a transaction at most.
const MOST_TOGETHER: usize = 64;
const ATTEMPTED: &str = "writing objects";

type Outcome = Result<Written, StorageError>;

/// Where writes wait.
pub type Queue = mpsc::Sender<(Write, oneshot::Sender<Outcome>)>;

/// Starts the task that writes.
pub fn start(database: Database, writers: AnyPool) -> Queue {
    let (queue, mut waiting) = mpsc::channel(MOST_TOGETHER);
    tokio::spawn(async move {
        let mut together = Vec::with_capacity(MOST_TOGETHER);
        while waiting.recv_many(&mut together, MOST_TOGETHER).await > 0 {
            let (writes, askers): (Vec<Write>, Vec<oneshot::Sender<Outcome>>) = together.drain(..).unzip();
            match commit(database, &writers, writes).await {
                Ok(outcomes) => {
                    for (asker, outcome) in askers.into_iter().zip(outcomes) {
                        // Whoever asked may have gone; it is written all the same.
                        let _ = asker.send(Ok(outcome));
                    }
                }
                Err(error) => {
                    let source = Arc::new(error);
                    for asker in askers {
                        let source = source.clone();
                        let _ = asker.send(Err(StorageError::Unavailable {
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

/// Waits for a write.
pub async fn asked(queue: &Queue, write: Write) -> Outcome {
    let ended = || failed(ATTEMPTED)(sqlx::Error::PoolClosed);
    let (asker, answer) = oneshot::channel();
    queue.send((write, asker)).await.map_err(|_| ended())?;
    answer.await.map_err(|_| ended())?
}

/// Begins a write transaction. On SQLite it takes the write lock at once.
pub async fn begin(database: Database, writers: &AnyPool) -> Result<Transaction<'static, Any>, StorageError> {
    begun(database, writers)
        .await
        .map_err(failed("beginning a write"))
}

async fn begun(database: Database, writers: &AnyPool) -> Result<Transaction<'static, Any>, sqlx::Error> {
    match database {
        Database::Sqlite => writers.begin_with("BEGIN IMMEDIATE").await,
        Database::Postgres => writers.begin().await,
    }
}

/// Carries out all writes or none. A write that finds something else than it expects is left out.
async fn commit(
    database: Database,
    writers: &AnyPool,
    writes: Vec<Write>,
) -> Result<Vec<Written>, sqlx::Error> {
    let mut transaction = begun(database, writers).await?;
    // Whoever has this row is the only one that writes, so what is read next stays true.
    let lock = match database {
        Database::Sqlite => "SELECT revision FROM kube_revision WHERE id = 1",
        Database::Postgres => "SELECT revision FROM kube_revision WHERE id = 1 FOR UPDATE",
    };
    let before = number(&sqlx::query(lock).fetch_one(&mut *transaction).await?, 0)?;
    let mut revision = before;
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        if !is_as_expected(&mut transaction, &write).await? {
            outcomes.push(Written::Unexpected);
            continue;
        }
        revision += 1;
        let (change, object) = write_rows(&mut transaction, write, revision).await?;
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
    let present = row.map(|row| number(&row, 0)).transpose()?;
    let expected = match write.expected {
        Expected::Absent => None,
        Expected::At(revision) => Some(revision),
    };
    Ok(present == expected)
}

async fn write_rows(
    transaction: &mut Transaction<'static, Any>,
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
    let uid = object::uid(&object).to_owned();
    let document: Arc<str> = object.to_string().into();
    let kind = match (deletes, expected) {
        (true, _) => ChangeKind::Deleted,
        (false, Expected::Absent) => ChangeKind::Added,
        (false, Expected::At(_)) => ChangeKind::Modified,
    };
    let before = match expected {
        Expected::Absent => 0,
        Expected::At(revision) => revision,
    };
    sqlx::query(
        "INSERT INTO kube_versions (revision, resource, namespace, name, uid, change, previous, document) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(revision as i64)
    .bind(key.resource.to_string())
    .bind(key.namespace.clone())
    .bind(key.name.clone())
    .bind(uid.clone())
    .bind(kind.name())
    .bind(before as i64)
    .bind(document.to_string())
    .execute(&mut **transaction)
    .await?;
    let statement = if deletes {
        "DELETE FROM kube_objects WHERE resource = $1 AND namespace = $2 AND name = $3 AND revision < $4 AND uid = $5"
    } else {
        "INSERT INTO kube_objects (resource, namespace, name, revision, uid) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (resource, namespace, name) DO UPDATE SET revision = excluded.revision, uid = excluded.uid"
    };
    sqlx::query(statement)
        .bind(key.resource.to_string())
        .bind(key.namespace.clone())
        .bind(key.name.clone())
        .bind(revision as i64)
        .bind(uid)
        .execute(&mut **transaction)
        .await?;
    let (previous, previous_object) = previous.unzip();
    let old_owners = previous_object.as_ref().map(owner_uids).unwrap_or_default();
    let new_owners = if deletes { Vec::new() } else { owner_uids(&object) };
    if old_owners != new_owners {
        write_owners(transaction, &key, &new_owners).await?;
    }
    let previous = previous.map(|stored| stored.document);
    let change = Change::new(revision, kind, key, document, previous).seen(&object, previous_object.as_ref());
    Ok((change, object))
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
