//! The storage in SQLite or PostgreSQL.

use std::sync::Arc;

use sqlx::any::AnyRow;
use sqlx::{AnyPool, Connection as _, Row as _};

use super::{Answer, Key, ListQuery, Page, Revision, Storage, StorageError, Stored, Write, Written, commit};
use crate::log::{Change, ChangeKind};

/// Which database it is: they begin transactions differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// One file, one process that writes.
    Sqlite,
    /// A server, any number of replicas.
    Postgres,
}

/// Objects in the tables `kube_*`, which migrations have made.
#[derive(Debug, Clone)]
pub struct SqlStorage {
    database: Database,
    readers: AnyPool,
    writers: AnyPool,
    queue: commit::Queue,
}

impl SqlStorage {
    /// Uses these connections. On PostgreSQL the two pools may be one. Writes are carried out by a task of the present tokio
    /// runtime, which ends with the last clone.
    pub fn new(database: Database, readers: AnyPool, writers: AnyPool) -> Self {
        Self {
            database,
            readers,
            queue: commit::start(database, writers.clone()),
            writers,
        }
    }

    async fn read_page(&self, query: ListQuery) -> Result<Page, StorageError> {
        let attempted = "listing objects";
        let mut connection = self.readers.acquire().await.map_err(failed(attempted))?;
        // Revision and rows of one moment.
        let mut reading = match self.database {
            Database::Sqlite => connection.begin().await,
            Database::Postgres => {
                connection
                    .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await
            }
        }
        .map_err(failed(attempted))?;
        let (current, compacted) = revisions(&mut reading).await?;
        let revision = query.at.unwrap_or(current);
        if query.at.is_some_and(|at| at < compacted || at > current) {
            return Ok(Page {
                revision: current,
                compacted,
                objects: Vec::new(),
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
        let rows = statement
            .fetch_all(&mut *reading)
            .await
            .map_err(failed(attempted))?;
        let total = match query.counts && query.at.is_none() {
            true => Some(count(&mut reading, &query).await?),
            false => None,
        };
        reading.commit().await.map_err(failed(attempted))?;
        let objects = rows.iter().map(|row| stored(row, &query.resource));
        let objects = objects.collect::<Result<_, _>>().map_err(failed(attempted))?;
        Ok(Page {
            revision,
            compacted,
            objects,
            total,
        })
    }
}

/// How many objects a query means now, in all.
async fn count(connection: &mut sqlx::AnyConnection, query: &ListQuery) -> Result<usize, StorageError> {
    let attempted = "counting objects";
    let sql = "SELECT COUNT(*) FROM kube_objects WHERE resource = $1 AND ($2 = '' OR namespace = $2) AND ($3 = '' OR name = $3)";
    let row = sqlx::query(sql)
        .bind(query.resource.to_string())
        .bind(query.namespace.clone().unwrap_or_default())
        .bind(query.name.clone().unwrap_or_default())
        .fetch_one(connection)
        .await
        .map_err(failed(attempted))?;
    let count = number(&row, 0).map_err(failed(attempted))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

enum Bind {
    Text(String),
    Number(i64),
}

/// The statement of a list with what is bound after the resource (`$1`).
fn list_statement(query: &ListQuery) -> (String, Vec<Bind>) {
    let mut binds = Vec::new();
    let mut bind = |value: Bind| {
        binds.push(value);
        format!("${}", binds.len() + 1)
    };
    let mut sql = String::from("SELECT v.namespace, v.name, v.revision, v.document FROM ");
    let mut conditions = match query.at {
        None => {
            sql.push_str(
                "kube_objects o JOIN kube_versions v ON v.revision = o.revision WHERE o.resource = $1",
            );
            String::new()
        }
        Some(at) => {
            sql.push_str("kube_versions v WHERE v.resource = $1");
            let at = bind(Bind::Number(at as i64));
            format!(
                " AND v.change <> 'DELETED' AND v.revision = (SELECT MAX(w.revision) FROM kube_versions w \
                 WHERE w.resource = v.resource AND w.namespace = v.namespace AND w.name = v.name \
                 AND w.revision <= {at})"
            )
        }
    };
    let table = if query.at.is_some() { "v" } else { "o" };
    if let Some(namespace) = &query.namespace {
        let namespace = bind(Bind::Text(namespace.clone()));
        conditions.push_str(&format!(" AND {table}.namespace = {namespace}"));
    }
    if let Some(name) = &query.name {
        let name = bind(Bind::Text(name.clone()));
        conditions.push_str(&format!(" AND {table}.name = {name}"));
    }
    if let Some((namespace, name)) = &query.after {
        let namespace = bind(Bind::Text(namespace.clone()));
        let name = bind(Bind::Text(name.clone()));
        conditions.push_str(&format!(
            " AND ({table}.namespace, {table}.name) > ({namespace}, {name})"
        ));
    }
    sql.push_str(&conditions);
    sql.push_str(&format!(" ORDER BY {table}.namespace, {table}.name"));
    if let Some(limit) = query.limit {
        let limit = bind(Bind::Number(i64::try_from(limit).unwrap_or(i64::MAX)));
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    (sql, binds)
}

impl Storage for SqlStorage {
    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Stored>> {
        Box::pin(async move {
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
            .map_err(failed(attempted))?;
            let found = row.map(|row| stored(&row, &key.resource));
            found.transpose().map_err(failed(attempted))
        })
    }

    fn list(&self, query: ListQuery) -> Answer<'_, Page> {
        Box::pin(self.read_page(query))
    }

    fn write(&self, write: Write) -> Answer<'_, Written> {
        Box::pin(commit::asked(&self.queue, write))
    }

    fn changes_after(&self, revision: Revision, limit: usize) -> Answer<'_, Vec<Arc<Change>>> {
        Box::pin(async move {
            let attempted = "reading changes";
            let rows = sqlx::query(
                "SELECT v.namespace, v.name, v.revision, v.document, v.resource, v.change, p.document \
                 FROM kube_versions v LEFT JOIN kube_versions p ON p.revision = v.previous \
                 WHERE v.revision > $1 ORDER BY v.revision LIMIT $2",
            )
            .bind(revision as i64)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(failed(attempted))?;
            let changes = rows.iter().map(|row| change(row).map(Arc::new));
            changes.collect::<Result<_, _>>().map_err(failed(attempted))
        })
    }

    fn revisions(&self) -> Answer<'_, (Revision, Revision)> {
        Box::pin(async move {
            let mut connection = self
                .readers
                .acquire()
                .await
                .map_err(failed("waiting for a connection"))?;
            revisions(&mut connection).await
        })
    }

    fn compact(&self, revision: Revision) -> Answer<'_, ()> {
        Box::pin(async move {
            let attempted = "compacting versions";
            let mut transaction = commit::begin(self.database, &self.writers).await?;
            let row = sqlx::query("SELECT revision, compacted FROM kube_revision WHERE id = 1")
                .fetch_one(&mut *transaction)
                .await
                .map_err(failed(attempted))?;
            let current = number(&row, 0).map_err(failed(attempted))?;
            let compacted = number(&row, 1).map_err(failed(attempted))?;
            let revision = revision.min(current);
            if revision <= compacted {
                return transaction.rollback().await.map_err(failed(attempted));
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
                    .bind(revision as i64)
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed(attempted))?;
            }
            transaction.commit().await.map_err(failed(attempted))
        })
    }

    fn owned_by<'a>(&'a self, owner_uid: &'a str) -> Answer<'a, Vec<Key>> {
        Box::pin(async move {
            let rows = sqlx::query("SELECT resource, namespace, name FROM kube_owners WHERE owner_uid = $1")
                .bind(owner_uid.to_owned())
                .fetch_all(&self.readers)
                .await;
            keys(rows)
        })
    }

    fn in_namespace<'a>(&'a self, namespace: &'a str) -> Answer<'a, Vec<Key>> {
        Box::pin(async move {
            let rows = sqlx::query("SELECT resource, namespace, name FROM kube_objects WHERE namespace = $1")
                .bind(namespace.to_owned())
                .fetch_all(&self.readers)
                .await;
            keys(rows)
        })
    }

    fn owned(&self) -> Answer<'_, Vec<Key>> {
        Box::pin(async move {
            let rows = sqlx::query("SELECT DISTINCT resource, namespace, name FROM kube_owners")
                .fetch_all(&self.readers)
                .await;
            keys(rows)
        })
    }

    fn is_shared(&self) -> bool {
        self.database == Database::Postgres
    }
}

pub(super) fn failed(attempted: &'static str) -> impl Fn(sqlx::Error) -> StorageError {
    move |source| StorageError::Unavailable {
        attempted,
        source: Arc::new(source),
    }
}

/// A column that is never negative.
pub(super) fn number(row: &AnyRow, column: usize) -> Result<u64, sqlx::Error> {
    row.try_get::<i64, _>(column).map(i64::unsigned_abs)
}

async fn revisions(connection: &mut sqlx::AnyConnection) -> Result<(Revision, Revision), StorageError> {
    let attempted = "reading the revision";
    let row = sqlx::query("SELECT revision, compacted FROM kube_revision WHERE id = 1")
        .fetch_one(connection)
        .await
        .map_err(failed(attempted))?;
    let current = number(&row, 0).map_err(failed(attempted))?;
    let compacted = number(&row, 1).map_err(failed(attempted))?;
    Ok((current, compacted))
}

/// Columns: namespace, name, revision, document.
fn stored(row: &AnyRow, resource: &Arc<str>) -> Result<Stored, sqlx::Error> {
    Ok(Stored {
        key: Key {
            resource: resource.clone(),
            namespace: row.try_get(0)?,
            name: row.try_get(1)?,
        },
        revision: number(row, 2)?,
        document: row.try_get::<String, _>(3)?.into(),
    })
}

/// Columns as of [`stored`], then resource, change, previous document.
fn change(row: &AnyRow) -> Result<Change, sqlx::Error> {
    let resource: Arc<str> = row.try_get::<String, _>(4)?.into();
    let stored = stored(row, &resource)?;
    let kind = ChangeKind::named(&row.try_get::<String, _>(5)?);
    let previous = row.try_get::<Option<String>, _>(6)?.map(Into::into);
    Ok(Change::new(
        stored.revision,
        kind,
        stored.key,
        stored.document,
        previous,
    ))
}

fn keys(rows: Result<Vec<AnyRow>, sqlx::Error>) -> Result<Vec<Key>, StorageError> {
    let attempted = "looking for objects";
    let key = |row: &AnyRow| -> Result<Key, sqlx::Error> {
        Ok(Key {
            resource: row.try_get::<String, _>(0)?.into(),
            namespace: row.try_get(1)?,
            name: row.try_get(2)?,
        })
    };
    let rows = rows.map_err(failed(attempted))?;
    rows.iter()
        .map(key)
        .collect::<Result<_, _>>()
        .map_err(failed(attempted))
}
