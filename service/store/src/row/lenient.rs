//! Reads data that a newer version may have written: documents with fields that this version does not have, lists with rows that it
//! cannot read.
//!
//! During a rolling update both versions read the same tables. A field that is skipped here is lost when this version writes the
//! document again, which the rules for changes allow for (`migrations/README.md`).

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::StoreError;

/// Most skipped fields of one document.
const MAX_UNKNOWN: usize = 100;

/// Most rows that are remembered as logged.
const MAX_LOGGED: usize = 10_000;

/// The rows that can be read. A row that cannot is left out of the list, logged once and counted (`muster_unreadable_rows_total`); reading
/// that record by its key returns the error.
pub(crate) fn readable<T>(rows: &[AnyRow], read: impl Fn(&AnyRow) -> Result<T>) -> Vec<T> {
    rows.iter().filter_map(|row| or_pass_over(read(row))).collect()
}

/// The result of reading one row of a list; `None`: it is skipped.
pub(crate) fn or_pass_over<T>(read: Result<T>) -> Option<T> {
    static LOGGED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            let table = match &error {
                StoreError::Corrupt { table, .. } => table,
                _ => "other",
            };
            metrics::counter!("muster_unreadable_rows_total", "table" => table).increment(1);
            let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
            if logged.len() < MAX_LOGGED && logged.insert(error.to_string()) {
                tracing::error!(%error, "left out of lists: a newer version wrote it, or it is damaged");
            }
            None
        }
    }
}

/// A document without the fields that this version refuses; `None` when it cannot be read even so.
pub(crate) fn without_unknown_fields<T: DeserializeOwned>(stored: &str) -> Option<T> {
    let mut document: Value = serde_json::from_str(stored).ok()?;
    for _ in 0..MAX_UNKNOWN {
        match serde_path_to_error::deserialize::<_, T>(&document) {
            Ok(read) => return Some(read),
            Err(error) => {
                let message = error.inner().to_string();
                let name = message.strip_prefix("unknown field `")?.split('`').next()?;
                remove(&mut document, error.path(), name)?;
            }
        }
    }
    None
}

/// Takes the field `name` out of the object at `path`; `None` when it is not there.
fn remove(document: &mut Value, path: &Path, name: &str) -> Option<()> {
    let mut at = document;
    for segment in path {
        let inner = match segment {
            Segment::Map { key } if key == name => break,
            Segment::Map { key } => at.get_mut(key.as_str())?,
            Segment::Seq { index } => at.get_mut(*index)?,
            Segment::Enum { variant } => match at.get(variant.as_str()) {
                Some(_) => at.get_mut(variant.as_str())?,
                None => continue,
            },
            Segment::Unknown => return None,
        };
        at = inner;
    }
    at.as_object_mut()?.remove(name).map(drop)
}

#[cfg(test)]
mod tests {
    use muster_core::record::{ClusterData, Settings};

    use super::*;

    #[test]
    fn fields_of_a_newer_version_are_passed_over_on_every_level() {
        let settings = r#"{"newer": 1, "pull_secret": "p", "proxy": {"http_proxy": "http://p", "socks": "s", "more": {}},
            "kernel_arguments": [{"operation": "append", "value": "a", "when": "always"}]}"#;
        assert!(
            serde_json::from_str::<Settings>(settings).is_err(),
            "the API's types refuse them"
        );
        let read: Settings = without_unknown_fields(settings).unwrap();
        assert_eq!(read.proxy.http_proxy.as_deref(), Some("http://p"));
        assert_eq!(read.kernel_arguments.unwrap()[0].value, "a");
        let cluster = r#"{"name": "c", "proxy": {"socks": "s"}, "traits": {"platform": {"type": "vsphere", "newer": []}}}"#;
        let read: ClusterData = without_unknown_fields(cluster).unwrap();
        assert_eq!(read.name, "c");
    }

    #[test]
    fn what_is_wrong_otherwise_stays_wrong() {
        assert!(without_unknown_fields::<Settings>(r#"{"proxy": "none"}"#).is_none());
        assert!(without_unknown_fields::<Settings>(r#"{"image_type": "floppy"}"#).is_none());
        assert!(without_unknown_fields::<Settings>("{").is_none());
    }
}
