//! Reads and writes the tables `kube_*`, which are created by migrations.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_sql::Kind;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AnyPool, Row as _};

use super::change::{BYTES_AT_ONCE, Change, Changes};
use super::cipher::{Cipher, Plain};
use super::commit::{self, Audience, Queue};
use super::error::StorageError;
use super::query::{Bind, ListQuery, Page, list_statement};
use super::records::{Key, Revision, Stored};
use super::rows::{self, Unreadable};
use super::write::{Write, Written};

/// The storage of the API. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct SqlStorage {
    kind: Kind,
    readers: AnyPool,
    writers: AnyPool,
    queue: Queue,
    audience: Audience,
    cipher: Arc<dyn Cipher>,
    /// Revisions that were logged as unreadable.
    logged: Arc<Mutex<HashSet<Revision>>>,
}

type Result<T> = std::result::Result<T, StorageError>;

/// Most revisions that are remembered as logged.
const MAX_LOGGED: usize = 10_000;

/// Most changes per read.
const CHANGES_AT_ONCE: i64 = 500;

/// Revisions that one transaction compacts: some 10 MB of inventories. Hosts register and report meanwhile, and SQLite has one writer.
const COMPACTED_AT_ONCE: Revision = 500;

/// Pause between two such transactions.
const COMPACTION_PAUSE: Duration = Duration::from_millis(20);

const SELECT_REVISIONS: &str = "SELECT revision, compacted FROM kube_revision WHERE id = 1";

impl SqlStorage {
    /// Uses these connection pools; on PostgreSQL they may be the same. A task on the current tokio runtime
    /// carries out the writes; it ends when the last clone is dropped.
    pub fn new(kind: Kind, readers: AnyPool, writers: AnyPool) -> Self {
        Self::with_cipher(kind, readers, writers, Arc::new(Plain))
    }

    /// [`Self::new`] with a cipher for documents.
    pub fn with_cipher(kind: Kind, readers: AnyPool, writers: AnyPool, cipher: Arc<dyn Cipher>) -> Self {
        let audience = Audience::default();
        Self {
            kind,
            readers,
            queue: commit::start(kind, writers.clone(), cipher.clone(), audience.clone()),
            audience,
            writers,
            cipher,
            logged: Arc::default(),
        }
    }

    /// Reads the current version of an object.
    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Stored>> {
        let attempted = "reading an object";
        let row = sqlx::query(
            "SELECT v.namespace, v.name, v.revision, v.document FROM kube_objects o \
             JOIN kube_versions v ON v.revision = o.revision \
             WHERE o.resource = $1 AND o.namespace = $2 AND o.name = $3",
        )
        .bind(key.resource.to_string())
        .bind(key.namespace.clone())
        .bind(key.name.clone())
        .fetch_optional(&self.readers)
        .await
        .map_err(StorageError::unavailable(attempted))?;
        let found = row.map(|row| rows::stored(&row, &key.resource, &*self.cipher));
        found.transpose().map_err(Unreadable::during(attempted))
    }

    /// The rows that can be read. A row with a document that cannot be decrypted is left out, and logged once.
    fn readable<T>(
        &self,
        attempted: &'static str,
        rows: &[AnyRow],
        read: impl Fn(&AnyRow) -> std::result::Result<T, Unreadable>,
    ) -> Result<Vec<T>> {
        let mut readable = Vec::with_capacity(rows.len());
        for row in rows {
            match read(row) {
                Ok(value) => readable.push(value),
                Err(Unreadable::Document { revision, reason }) => {
                    let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
                    if logged.len() < MAX_LOGGED && logged.insert(revision) {
                        tracing::error!(revision, reason, "an object is left out of lists and watches");
                    }
                }
                Err(error) => return Err(Unreadable::during(attempted)(error)),
            }
        }
        Ok(readable)
    }

    /// Reads objects of one revision. The page is empty when the requested revision was compacted or does not exist yet.
    pub(crate) async fn list(&self, query: ListQuery) -> Result<Page> {
        let failed = StorageError::unavailable("listing objects");
        let begun = self.kind.begin_read(&self.readers).await;
        let mut reading = begun.map_err(&failed)?;
        let (current, compacted) = revisions(&mut reading).await?;
        let revision = query.at.unwrap_or(current);
        if query.at.is_some_and(|at| at < compacted || at > current) {
            return Ok(Page {
                revision: current,
                compacted,
                objects: Vec::new(),
                rows: 0,
                last: None,
                total: None,
            });
        }
        let (sql, binds) = list_statement(&query);
        let mut statement = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(query.resource.to_string());
        for bind in binds {
            statement = match bind {
                Bind::Text(text) => statement.bind(text),
                Bind::Number(number) => statement.bind(number),
            };
        }
        let rows = statement.fetch_all(&mut *reading).await.map_err(&failed)?;
        let total = match query.counts && query.at.is_none() {
            true => Some(count(&mut reading, &query).await?),
            false => None,
        };
        reading.commit().await.map_err(&failed)?;
        let last = rows.last().map(rows::name).transpose().map_err(&failed)?;
        let read = |row: &AnyRow| rows::stored(row, &query.resource, &*self.cipher);
        Ok(Page {
            revision,
            compacted,
            objects: self.readable("listing objects", &rows, read)?,
            rows: rows.len(),
            last,
            total,
        })
    }

    /// Calls `listener` with every change that this storage commits, even if the writer was cancelled.
    pub(crate) fn on_commit(&self, listener: impl Fn(&Arc<Change>) + Send + Sync + 'static) {
        self.audience.set(listener);
    }

    /// Carries out one write if its precondition holds.
    pub(crate) async fn write(&self, write: Write) -> Result<Written> {
        commit::enqueue(&self.queue, write).await
    }

    /// Reads changes after a revision, oldest first: as many as have [`BYTES_AT_ONCE`], but at least one if there is one.
    pub(crate) async fn changes_after(&self, revision: Revision) -> Result<Changes> {
        let attempted = "reading changes";
        let to = self.extent_after(revision).await?;
        let rows = sqlx::query(
            "SELECT v.namespace, v.name, v.revision, v.document, v.resource, v.change, v.previous, p.document \
             FROM kube_versions v LEFT JOIN kube_versions p ON p.revision = v.previous \
             WHERE v.revision > $1 AND v.revision <= $2 ORDER BY v.revision",
        )
        .bind(revision as i64)
        .bind(to as i64)
        .fetch_all(&self.readers)
        .await
        .map_err(StorageError::unavailable(attempted))?;
        let read = |row: &AnyRow| rows::change(row, &*self.cipher).map(Arc::new);
        Ok(Changes {
            found: self.readable(attempted, &rows, read)?,
            to,
        })
    }

    /// The last of the changes after `revision` that are read together. Sizes are known without reading the documents.
    async fn extent_after(&self, revision: Revision) -> Result<Revision> {
        let failed = StorageError::unavailable("measuring changes");
        let rows = sqlx::query(
            "SELECT v.revision, CAST(octet_length(v.document) + COALESCE(octet_length(p.document), 0) AS BIGINT) \
             FROM kube_versions v LEFT JOIN kube_versions p ON p.revision = v.previous \
             WHERE v.revision > $1 ORDER BY v.revision LIMIT $2",
        )
        .bind(revision as i64)
        .bind(CHANGES_AT_ONCE)
        .fetch_all(&self.readers)
        .await
        .map_err(&failed)?;
        let (mut to, mut bytes) = (revision, 0);
        for row in &rows {
            bytes += row.try_get::<i64, _>(1).map_err(&failed)?;
            if to > revision && bytes > BYTES_AT_ONCE as i64 {
                break;
            }
            to = row.try_get::<i64, _>(0).map_err(&failed)?.cast_unsigned();
        }
        Ok(to)
    }

    /// Reads the current and the compacted revision.
    pub(crate) async fn revisions(&self) -> Result<(Revision, Revision)> {
        let connection = self.readers.acquire().await;
        let mut connection = connection.map_err(StorageError::unavailable("waiting for a connection"))?;
        revisions(&mut connection).await
    }

    /// Deletes versions that were replaced at or before this revision, some at a time, so that other writers can write in between.
    pub(crate) async fn compact(&self, revision: Revision) -> Result<()> {
        while self.compact_some(revision).await? {
            tokio::time::sleep(COMPACTION_PAUSE).await;
        }
        Ok(())
    }

    /// Compacts the next [`COMPACTED_AT_ONCE`] revisions; true when more are left.
    async fn compact_some(&self, revision: Revision) -> Result<bool> {
        let failed = StorageError::unavailable("compacting versions");
        let begun = self.kind.begin_write(&self.writers).await;
        let mut transaction = begun.map_err(StorageError::unavailable("beginning a write"))?;
        let (current, compacted) = revisions(&mut transaction).await?;
        let last = revision.min(current);
        let to = last.min(compacted + COMPACTED_AT_ONCE);
        if to <= compacted {
            transaction.rollback().await.map_err(&failed)?;
            return Ok(false);
        }
        let statements = [
            "DELETE FROM kube_versions WHERE revision IN \
             (SELECT v.previous FROM kube_versions v WHERE v.revision > $1 AND v.revision <= $2)",
            "DELETE FROM kube_versions WHERE change = 'DELETED' AND revision > $1 AND revision <= $2",
            "UPDATE kube_revision SET compacted = $2 WHERE id = 1 AND compacted = $1",
        ];
        for statement in statements {
            sqlx::query(statement)
                .bind(compacted as i64)
                .bind(to as i64)
                .execute(&mut *transaction)
                .await
                .map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)?;
        Ok(to < last)
    }

    /// Keys of objects with this owner.
    pub(crate) async fn owned_by(&self, owner_uid: &str) -> Result<Vec<Key>> {
        let sql = "SELECT resource, namespace, name FROM kube_owners WHERE owner_uid = $1";
        let query = sqlx::query(sql).bind(owner_uid.to_owned());
        keys(query.fetch_all(&self.readers).await)
    }

    /// Keys of objects in a namespace, of all resources.
    pub(crate) async fn in_namespace(&self, namespace: &str) -> Result<Vec<Key>> {
        let sql = "SELECT resource, namespace, name FROM kube_objects WHERE namespace = $1";
        let query = sqlx::query(sql).bind(namespace.to_owned());
        keys(query.fetch_all(&self.readers).await)
    }

    /// Keys of objects that have an owner, of all resources.
    pub(crate) async fn owned(&self) -> Result<Vec<Key>> {
        let query = sqlx::query("SELECT DISTINCT resource, namespace, name FROM kube_owners");
        keys(query.fetch_all(&self.readers).await)
    }

    /// Keys of objects that may wait for their dependents: their documents hold one of these words.
    pub(crate) async fn holding(&self, words: [&str; 2]) -> Result<Vec<Key>> {
        let sql = "SELECT o.resource, o.namespace, o.name FROM kube_objects o JOIN kube_versions v ON v.revision = o.revision \
                   WHERE v.document LIKE $1 OR v.document LIKE $2";
        let [one, other] = words.map(|word| format!("%\"{word}\"%"));
        let query = sqlx::query(sql).bind(one).bind(other);
        keys(query.fetch_all(&self.readers).await)
    }

    /// True when other replicas may write to the same database, so that their changes must be polled for.
    pub(crate) fn is_shared(&self) -> bool {
        self.kind == Kind::Postgres
    }
}

/// Counts the objects that a query selects now, without its limit.
async fn count(connection: &mut AnyConnection, query: &ListQuery) -> Result<usize> {
    let failed = StorageError::unavailable("counting objects");
    let sql = "SELECT COUNT(*) FROM kube_objects WHERE resource = $1 AND ($2 = '' OR namespace = $2) AND ($3 = '' OR name = $3)";
    let row = sqlx::query(sql)
        .bind(query.resource.to_string())
        .bind(query.namespace.clone().unwrap_or_default())
        .bind(query.name.clone().unwrap_or_default())
        .fetch_one(connection)
        .await
        .map_err(&failed)?;
    let count = rows::number(&row, 0).map_err(&failed)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

async fn revisions(connection: &mut AnyConnection) -> Result<(Revision, Revision)> {
    let row = sqlx::query(SELECT_REVISIONS).fetch_one(connection).await;
    row.and_then(|row| rows::revisions(&row))
        .map_err(StorageError::unavailable("reading the revision"))
}

fn keys(rows: std::result::Result<Vec<AnyRow>, sqlx::Error>) -> Result<Vec<Key>> {
    rows.and_then(|rows| rows.iter().map(rows::key).collect())
        .map_err(StorageError::unavailable("looking for objects"))
}
