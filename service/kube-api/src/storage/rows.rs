//! Decodes rows of the tables `kube_*`.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::change::{Change, ChangeKind};
use super::cipher::Cipher;
use super::error::StorageError;
use super::records::{Key, Revision, Stored};

/// A column that is never negative.
pub fn number(row: &AnyRow, column: usize) -> Result<u64, sqlx::Error> {
    row.try_get::<i64, _>(column).map(i64::unsigned_abs)
}

/// Columns: current revision, compacted revision.
pub fn revisions(row: &AnyRow) -> Result<(Revision, Revision), sqlx::Error> {
    Ok((number(row, 0)?, number(row, 1)?))
}

/// Columns: namespace, name.
pub fn name(row: &AnyRow) -> Result<(String, String), sqlx::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// Columns: namespace, name, revision, document.
///
/// # Errors
/// `Corrupt` when the document cannot be decrypted.
pub fn stored(row: &AnyRow, resource: &Arc<str>, cipher: &dyn Cipher) -> Result<Stored, Unreadable> {
    let (namespace, name) = name(row)?;
    let key = Key {
        resource: resource.clone(),
        namespace,
        name,
    };
    let revision = number(row, 2)?;
    let document = open(cipher, &key, revision, row.try_get(3)?)?;
    Ok(Stored {
        key,
        revision,
        document,
    })
}

/// Columns of [`stored`], then resource, change, previous revision and document. A previous document that cannot be decrypted is left out.
///
/// # Errors
/// `Corrupt` when the document cannot be decrypted.
pub fn change(row: &AnyRow, cipher: &dyn Cipher) -> Result<Change, Unreadable> {
    let resource: Arc<str> = row.try_get::<String, _>(4)?.into();
    let Stored {
        key,
        revision,
        document,
    } = stored(row, &resource, cipher)?;
    let kind = row
        .try_get::<String, _>(5)?
        .parse()
        .unwrap_or(ChangeKind::Modified);
    let before = number(row, 6)?;
    let previous = row.try_get::<Option<String>, _>(7)?;
    let previous = previous.and_then(|previous| open(cipher, &key, before, previous).ok());
    Ok(Change::new(revision, kind, key, document, previous))
}

fn open(cipher: &dyn Cipher, key: &Key, revision: Revision, stored: String) -> Result<Arc<str>, Unreadable> {
    let opened = cipher.open(key, revision, stored);
    opened.map(Into::into).map_err(|reason| Unreadable::Document {
        revision,
        reason: reason.to_string(),
    })
}

/// A row that cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// The driver cannot: no row of the answer is to be trusted.
    Row(sqlx::Error),
    /// Its document cannot be decrypted.
    Document { revision: Revision, reason: String },
}

impl From<sqlx::Error> for Unreadable {
    fn from(error: sqlx::Error) -> Self {
        Self::Row(error)
    }
}

impl Unreadable {
    /// For `map_err`, with the operation that failed.
    pub fn during(attempted: &'static str) -> impl Fn(Self) -> StorageError {
        move |error| match error {
            Self::Row(error) => StorageError::unavailable(attempted)(error),
            Self::Document { revision, reason } => StorageError::Corrupt { revision, reason },
        }
    }
}

/// Columns: resource, namespace, name.
pub fn key(row: &AnyRow) -> Result<Key, sqlx::Error> {
    Ok(Key {
        resource: row.try_get::<String, _>(0)?.into(),
        namespace: row.try_get(1)?,
        name: row.try_get(2)?,
    })
}
