//! From rows to values, with errors that name table, key and column.

use std::fmt::Display;
use std::str::FromStr;

use muster_api::time::Timestamp;
use muster_core::kube::KubeRef;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::error::StoreError;

/// One row being read.
pub(crate) struct Reading<'r> {
    row: &'r AnyRow,
    table: &'static str,
    id: String,
}

impl<'r> Reading<'r> {
    /// `key` are the columns that name the row.
    pub(crate) fn new(row: &'r AnyRow, table: &'static str, key: &[&str]) -> Self {
        let parts: Vec<String> = key
            .iter()
            .map(|column| row.try_get::<String, _>(*column).unwrap_or_else(|_| "?".into()))
            .collect();
        Self {
            row,
            table,
            id: parts.join("/"),
        }
    }

    fn corrupt(&self, column: &'static str, reason: impl Display) -> StoreError {
        StoreError::Corrupt {
            table: self.table,
            id: self.id.clone(),
            column,
            reason: reason.to_string(),
        }
    }

    fn get<T>(&self, column: &'static str) -> Result<T, StoreError>
    where
        T: sqlx::Decode<'r, sqlx::Any> + sqlx::Type<sqlx::Any>,
    {
        // The driver's own text would print the value.
        self.row.try_get(column).map_err(|error| {
            let reason = match error {
                sqlx::Error::ColumnNotFound(_) => "no such column",
                _ => "not of the column's type",
            };
            self.corrupt(column, reason)
        })
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<String, StoreError> {
        self.get(column)
    }

    pub(crate) fn text_or_none(&self, column: &'static str) -> Result<Option<String>, StoreError> {
        self.get(column)
    }

    pub(crate) fn number(&self, column: &'static str) -> Result<i64, StoreError> {
        self.get(column)
    }

    pub(crate) fn moment(&self, column: &'static str) -> Result<Timestamp, StoreError> {
        self.as_moment(column, self.number(column)?)
    }

    pub(crate) fn moment_or_none(&self, column: &'static str) -> Result<Option<Timestamp>, StoreError> {
        let micros: Option<i64> = self.get(column)?;
        micros.map(|micros| self.as_moment(column, micros)).transpose()
    }

    fn as_moment(&self, column: &'static str, micros: i64) -> Result<Timestamp, StoreError> {
        Timestamp::from_timestamp_micros(micros).ok_or_else(|| self.corrupt(column, "not a moment"))
    }

    pub(crate) fn parsed<T: FromStr>(&self, column: &'static str) -> Result<T, StoreError> {
        self.as_parsed(column, &self.text(column)?)
    }

    pub(crate) fn parsed_or_none<T: FromStr>(&self, column: &'static str) -> Result<Option<T>, StoreError> {
        self.text_or_none(column)?
            .map(|text| self.as_parsed(column, &text))
            .transpose()
    }

    fn as_parsed<T: FromStr>(&self, column: &'static str, text: &str) -> Result<T, StoreError> {
        text.parse().map_err(|_| self.corrupt(column, "not an id"))
    }

    /// A value that stands under a name in a closed list.
    pub(crate) fn named<T: FromStr>(&self, column: &'static str) -> Result<T, StoreError> {
        self.as_named(column, &self.text(column)?)
    }

    pub(crate) fn named_or_none<T: FromStr>(&self, column: &'static str) -> Result<Option<T>, StoreError> {
        self.text_or_none(column)?
            .map(|name| self.as_named(column, &name))
            .transpose()
    }

    fn as_named<T: FromStr>(&self, column: &'static str, name: &str) -> Result<T, StoreError> {
        name.parse().map_err(|_| self.corrupt(column, "unknown name"))
    }

    pub(crate) fn document<T: DeserializeOwned>(&self, column: &'static str) -> Result<T, StoreError> {
        self.as_document(column, &self.text(column)?)
    }

    pub(crate) fn document_or_none<T: DeserializeOwned>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        self.text_or_none(column)?
            .map(|text| self.as_document(column, &text))
            .transpose()
    }

    fn as_document<T: DeserializeOwned>(&self, column: &'static str, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| {
            // serde's text may quote the value, which may be secret.
            let what = match error.classify() {
                serde_json::error::Category::Data => "JSON of another shape",
                _ => "not JSON",
            };
            self.corrupt(column, format!("{what}, near character {}", error.column()))
        })
    }
}

/// The custom resource that a record belongs to.
pub(crate) fn kube_from(reading: &Reading<'_>) -> Result<Option<KubeRef>, StoreError> {
    let namespace = reading.text_or_none("kube_namespace")?;
    let name = reading.text_or_none("kube_name")?;
    Ok(namespace
        .zip(name)
        .map(|(namespace, name)| KubeRef { namespace, name }))
}

/// How a moment is stored.
pub(crate) fn micros(moment: Timestamp) -> i64 {
    moment.timestamp_micros()
}

/// How a document is stored.
pub(crate) fn document<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Encode { what, source })
}

/// PostgreSQL refuses the character U+0000 in text.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
