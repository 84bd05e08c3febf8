//! Decodes rows of the tables `kube_*`.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::change::{Change, ChangeKind};
use super::records::{Key, Revision, Stored};

/// A column that is never negative.
pub fn number(row: &AnyRow, column: usize) -> Result<u64, sqlx::Error> {
    row.try_get::<i64, _>(column).map(i64::unsigned_abs)
}

/// Columns: current revision, compacted revision.
pub fn revisions(row: &AnyRow) -> Result<(Revision, Revision), sqlx::Error> {
    Ok((number(row, 0)?, number(row, 1)?))
}

/// Columns: namespace, name, revision, document.
pub fn stored(row: &AnyRow, resource: &Arc<str>) -> Result<Stored, sqlx::Error> {
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

/// Columns of [`stored`], then resource, change, previous document.
pub fn change(row: &AnyRow) -> Result<Change, sqlx::Error> {
    let resource: Arc<str> = row.try_get::<String, _>(4)?.into();
    let Stored {
        key,
        revision,
        document,
    } = stored(row, &resource)?;
    let kind = row
        .try_get::<String, _>(5)?
        .parse()
        .unwrap_or(ChangeKind::Modified);
    let previous = row.try_get::<Option<String>, _>(6)?.map(Into::into);
    Ok(Change::new(revision, kind, key, document, previous))
}

/// Columns: resource, namespace, name.
pub fn key(row: &AnyRow) -> Result<Key, sqlx::Error> {
    Ok(Key {
        resource: row.try_get::<String, _>(0)?.into(),
        namespace: row.try_get(1)?,
        name: row.try_get(2)?,
    })
}
