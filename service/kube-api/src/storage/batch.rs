//! Carries out many writes by few statements: each statement is a round trip to the database.

use std::collections::HashMap;
use std::sync::Arc;

use muster_sql::{Kind, in_parts, push_tuples};
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Transaction};

use super::change::{Change, ChangeKind};
use super::cipher::Cipher;
use super::records::{Key, Revision};
use super::rows::{key, number};
use super::write::{Expected, Write, Written, owner_uids};
use crate::object;

/// A transaction that writes objects.
pub struct Batch<'a> {
    pub transaction: &'a mut Transaction<'static, Any>,
    pub kind: Kind,
    pub cipher: &'a dyn Cipher,
}

/// A write that passed its precondition.
struct Accepted {
    change: Arc<Change>,
    uid: String,
    /// Revision of the version before; 0: there was none.
    previous: Revision,
    /// Uids of its owners, if they changed.
    owners: Option<Vec<String>>,
}

type Statement = Query<'static, Any, AnyArguments>;

impl Batch<'_> {
    /// Carries out these writes in their order, each as the next revision after `revision`, except those that fail their preconditions.
    /// Returns the last revision, too.
    pub async fn write(
        &mut self,
        writes: Vec<Write>,
        mut revision: Revision,
    ) -> sqlx::Result<(Vec<Written>, Revision)> {
        let mut present = self.present(&writes).await?;
        let mut outcomes = Vec::with_capacity(writes.len());
        let mut all_accepted = Vec::with_capacity(writes.len());
        for write in writes {
            let expected = match write.expected {
                Expected::Absent => None,
                Expected::At(expected) => Some(expected),
            };
            if present.get(&write.key).copied() != expected {
                outcomes.push(Written::Unexpected);
                continue;
            }
            revision += 1;
            match write.deletes {
                true => present.remove(&write.key),
                false => present.insert(write.key.clone(), revision),
            };
            let (accepted, outcome) = accept(write, revision, expected.unwrap_or_default());
            all_accepted.push(accepted);
            outcomes.push(outcome);
        }
        self.insert_versions(&all_accepted).await?;
        self.set_present(&all_accepted).await?;
        for accepted in &all_accepted {
            if let Some(owners) = &accepted.owners {
                self.write_owners(&accepted.change.key, owners).await?;
            }
        }
        Ok((outcomes, revision))
    }

    /// The present revisions of the objects that are to be written.
    async fn present(&mut self, writes: &[Write]) -> sqlx::Result<HashMap<Key, Revision>> {
        let mut present = HashMap::new();
        for part in in_parts(writes) {
            let start = "SELECT resource, namespace, name, revision FROM kube_objects";
            let keys = part.iter().map(|write| &write.key);
            let rows = self.of_keys(start, keys).fetch_all(&mut **self.transaction);
            for row in rows.await? {
                present.insert(key(&row)?, number(&row, 3)?);
            }
        }
        Ok(present)
    }

    async fn insert_versions(&mut self, all_accepted: &[Accepted]) -> sqlx::Result<()> {
        for part in in_parts(all_accepted) {
            let mut sql = String::from(
                "INSERT INTO kube_versions (resource, namespace, name, revision, uid, change, previous, document) VALUES ",
            );
            push_tuples(&mut sql, self.kind, part.len(), 8);
            let mut statement = sqlx::query(AssertSqlSafe(sql));
            for accepted in part {
                let change = &accepted.change;
                let document = self
                    .cipher
                    .seal(&change.key, change.revision, &change.document)
                    .map_err(sqlx::Error::Encode)?;
                statement = bind_version(statement, accepted)
                    .bind(change.kind.name())
                    .bind(accepted.previous as i64)
                    .bind(document);
            }
            statement.execute(&mut **self.transaction).await?;
        }
        Ok(())
    }

    /// Points the rows of objects to their new versions, or deletes them. If an object is written twice, the last write counts.
    async fn set_present(&mut self, all_accepted: &[Accepted]) -> sqlx::Result<()> {
        let last: HashMap<&Key, &Accepted> = all_accepted
            .iter()
            .map(|accepted| (&accepted.change.key, accepted))
            .collect();
        let (gone, there): (Vec<&Accepted>, Vec<&Accepted>) = last
            .into_values()
            .partition(|accepted| accepted.change.kind == ChangeKind::Deleted);
        for part in in_parts(&there) {
            let mut sql =
                String::from("INSERT INTO kube_objects (resource, namespace, name, revision, uid) VALUES ");
            push_tuples(&mut sql, self.kind, part.len(), 5);
            sql.push_str(
                " ON CONFLICT (resource, namespace, name) DO UPDATE SET revision = excluded.revision, uid = excluded.uid",
            );
            let statement = sqlx::query(AssertSqlSafe(sql));
            let statement = part
                .iter()
                .fold(statement, |statement, accepted| bind_version(statement, accepted));
            statement.execute(&mut **self.transaction).await?;
        }
        for part in in_parts(&gone) {
            let keys = part.iter().map(|accepted| &accepted.change.key);
            let statement = self.of_keys("DELETE FROM kube_objects", keys);
            statement.execute(&mut **self.transaction).await?;
        }
        Ok(())
    }

    async fn write_owners(&mut self, key: &Key, owners: &[String]) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM kube_owners WHERE resource = $1 AND namespace = $2 AND name = $3")
            .bind(key.resource.to_string())
            .bind(key.namespace.clone())
            .bind(key.name.clone())
            .execute(&mut **self.transaction)
            .await?;
        for owner in owners {
            sqlx::query(
                "INSERT INTO kube_owners (owner_uid, resource, namespace, name) VALUES ($1, $2, $3, $4)",
            )
            .bind(owner.clone())
            .bind(key.resource.to_string())
            .bind(key.namespace.clone())
            .bind(key.name.clone())
            .execute(&mut **self.transaction)
            .await?;
        }
        Ok(())
    }

    /// A statement that begins with `start`, for the rows of these objects.
    fn of_keys<'k>(&self, start: &str, keys: impl ExactSizeIterator<Item = &'k Key>) -> Statement {
        let mut sql = format!("{start} WHERE (resource, namespace, name) IN (VALUES ");
        push_tuples(&mut sql, self.kind, keys.len(), 3);
        sql.push(')');
        keys.fold(sqlx::query(AssertSqlSafe(sql)), bind_key)
    }
}

/// Makes a change of a write, as this revision.
fn accept(write: Write, revision: Revision, previous_revision: Revision) -> (Accepted, Written) {
    let Write {
        key,
        previous,
        mut object,
        deletes,
        ..
    } = write;
    object::set_resource_version(&mut object, revision);
    let kind = match (deletes, previous_revision) {
        (true, _) => ChangeKind::Deleted,
        (false, 0) => ChangeKind::Added,
        (false, _) => ChangeKind::Modified,
    };
    let (previous, previous_object) = previous.unzip();
    let previous = previous.map(|stored| stored.document);
    let change = Change::new(revision, kind, key, object.to_string().into(), previous)
        .with_parsed(&object, previous_object.as_ref());
    let old_owners = previous_object.as_ref().map(owner_uids).unwrap_or_default();
    let new_owners = if deletes { Vec::new() } else { owner_uids(&object) };
    let change = Arc::new(change);
    let accepted = Accepted {
        change: change.clone(),
        uid: object::uid(&object).to_owned(),
        previous: previous_revision,
        owners: (old_owners != new_owners).then(|| new_owners.into_iter().map(str::to_owned).collect()),
    };
    (accepted, Written::Done(change, object))
}

/// Binds resource, namespace and name.
fn bind_key(statement: Statement, key: &Key) -> Statement {
    statement
        .bind(key.resource.to_string())
        .bind(key.namespace.clone())
        .bind(key.name.clone())
}

/// Binds resource, namespace, name, revision and uid.
fn bind_version(statement: Statement, accepted: &Accepted) -> Statement {
    bind_key(statement, &accepted.change.key)
        .bind(accepted.change.revision as i64)
        .bind(accepted.uid.clone())
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use muster_store::Store;
    use muster_tests::database::postgres::Postgres;
    use serde_json::json;

    use super::*;
    use crate::storage::SqlStorage;

    fn key(name: &str) -> Key {
        Key {
            resource: "books".into(),
            namespace: "shelf".into(),
            name: name.into(),
        }
    }

    fn creation(name: &str, owner: &str) -> Write {
        Write {
            key: key(name),
            expected: Expected::Absent,
            previous: None,
            object: json!({"metadata": {"name": name, "uid": format!("{name}-of-{owner}"), "ownerReferences": [{"uid": owner}]}}),
            deletes: false,
        }
    }

    /// A write of an object that the storage has.
    async fn change(storage: &SqlStorage, name: &str, deletes: bool) -> Write {
        let stored = storage.get(&key(name)).await.unwrap().unwrap();
        let object = stored.object().unwrap();
        Write {
            expected: Expected::At(stored.revision),
            previous: Some((stored, object.clone())),
            deletes,
            ..creation(name, "1")
        }
    }

    async fn writes_that_share_a_transaction_follow_each_other(url: &str) {
        let store = Store::open(url).await.unwrap();
        let (readers, writers) = store.pools();
        let storage = SqlStorage::new(store.kind(), readers, writers);
        for name in ["a", "b", "c"] {
            storage.write(creation(name, "1")).await.unwrap();
        }
        let (before, _) = storage.revisions().await.unwrap();
        // With one runtime thread, all of them are queued when the first transaction begins.
        let together = [
            change(&storage, "a", true).await,
            creation("a", "2"),
            change(&storage, "a", false).await,
            change(&storage, "b", false).await,
            change(&storage, "c", true).await,
            creation("b", "2"),
            creation("d", "1"),
        ];
        let written = join_all(together.map(|write| storage.write(write))).await;
        let is_done: Vec<bool> = written
            .iter()
            .map(|written| matches!(written, Ok(Written::Done(..))))
            .collect();
        assert_eq!(is_done, [true, true, false, true, true, false, true]);
        let changes = storage.changes_after(before).await.unwrap();
        let seen: Vec<_> = changes
            .found
            .iter()
            .map(|change| (change.revision - before, &*change.key.name, change.kind))
            .collect();
        assert_eq!(
            seen,
            [
                (1, "a", ChangeKind::Deleted),
                (2, "a", ChangeKind::Added),
                (3, "b", ChangeKind::Modified),
                (4, "c", ChangeKind::Deleted),
                (5, "d", ChangeKind::Added),
            ]
        );
        assert_eq!(changes.to, before + 5);
        let revision = async |name: &str| {
            let stored = storage.get(&key(name)).await.unwrap();
            stored.map(|stored| stored.revision - before)
        };
        let present = [
            revision("a").await,
            revision("b").await,
            revision("c").await,
            revision("d").await,
        ];
        assert_eq!(present, [Some(2), Some(3), None, Some(5)]);
        let owned = async |owner: &str| {
            let mut keys = storage.owned_by(owner).await.unwrap();
            keys.sort();
            keys.into_iter().map(|key| key.name).collect::<Vec<_>>()
        };
        assert_eq!(
            (owned("1").await, owned("2").await),
            (vec!["b".into(), "d".into()], vec!["a".into()])
        );
    }

    #[tokio::test]
    async fn writes_that_share_a_transaction_follow_each_other_on_sqlite() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/kube.db", folder.path().display());
        writes_that_share_a_transaction_follow_each_other(&url).await;
    }

    #[tokio::test]
    async fn writes_that_share_a_transaction_follow_each_other_on_postgres() {
        let cluster = Postgres::shared();
        let url = cluster.create_database();
        writes_that_share_a_transaction_follow_each_other(&url).await;
    }
}
