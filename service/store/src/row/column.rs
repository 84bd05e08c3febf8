//! Types that columns may have: how their values are stored and bound, and how they are read.

use std::borrow::Cow;

use muster_api::bmc::BmcPhase;
use muster_api::boot::BootFile;
use muster_api::event::{Category, Severity};
use muster_api::host::HostStatus;
use muster_api::ids::{BmcId, ClusterId, EventId, HostId, InfraEnvId, JobId};
use muster_api::jobs::{JobOutcome, JobState};
use muster_api::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Any;

use super::lenient::without_unknown_fields;
use crate::error::StoreError;

/// A type with values that are kept in columns.
pub(crate) trait Column: Sized {
    /// The type of the column: `String` or `i64`, or an `Option` of it where the column may be NULL.
    type Stored: for<'r> sqlx::Decode<'r, Any> + sqlx::Type<Any> + Into<Cell>;

    fn to_stored(&self) -> serde_json::Result<Self::Stored>;

    /// # Errors
    /// The reason, which never quotes the value: it may be secret.
    fn from_stored(stored: Self::Stored) -> Result<Self, Cow<'static, str>>;

    /// A stored value as it is bound.
    fn cell(stored: Self::Stored) -> Cell {
        stored.into()
    }

    /// Decrypts a stored value with `open` before it is decoded. Columns that are not sealed return it as it is.
    ///
    /// # Errors
    /// Fails if `open` does.
    fn opened(stored: Self::Stored, open: &Opener<'_>) -> Result<Self::Stored, Cow<'static, str>> {
        let _ = open;
        Ok(stored)
    }
}

/// Opens a sealed text.
pub(crate) type Opener<'a> = dyn Fn(String) -> Result<String, Cow<'static, str>> + 'a;

impl Column for String {
    type Stored = String;

    fn to_stored(&self) -> serde_json::Result<String> {
        Ok(storable(self))
    }

    fn from_stored(stored: String) -> Result<Self, Cow<'static, str>> {
        Ok(stored)
    }
}

impl Column for i64 {
    type Stored = i64;

    fn to_stored(&self) -> serde_json::Result<i64> {
        Ok(*self)
    }

    fn from_stored(stored: i64) -> Result<Self, Cow<'static, str>> {
        Ok(stored)
    }
}

impl Column for bool {
    type Stored = i64;

    fn to_stored(&self) -> serde_json::Result<i64> {
        Ok(i64::from(*self))
    }

    fn from_stored(stored: i64) -> Result<Self, Cow<'static, str>> {
        Ok(stored != 0)
    }
}

impl Column for Timestamp {
    type Stored = i64;

    fn to_stored(&self) -> serde_json::Result<i64> {
        Ok(micros(*self))
    }

    fn from_stored(stored: i64) -> Result<Self, Cow<'static, str>> {
        Timestamp::from_timestamp_micros(stored).ok_or(Cow::Borrowed("not a timestamp"))
    }
}

/// Types that are stored as the text that they print and parse.
macro_rules! text_columns {
    ($reason:literal: $($type:ty),*) => {$(
        impl Column for $type {
            type Stored = String;

            fn to_stored(&self) -> serde_json::Result<String> {
                Ok(self.to_string())
            }

            fn from_stored(stored: String) -> Result<Self, Cow<'static, str>> {
                stored.parse().map_err(|_| Cow::Borrowed($reason))
            }
        }
    )*};
}

text_columns!("not an id": HostId, InfraEnvId, ClusterId, BmcId, EventId, JobId);
text_columns!("unknown name": BmcPhase, BootFile, HostStatus, Severity, Category, JobState, JobOutcome);

/// A document, stored as JSON text.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize + DeserializeOwned> Column for Json<T> {
    type Stored = String;

    fn to_stored(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.0)
    }

    fn from_stored(stored: String) -> Result<Self, Cow<'static, str>> {
        let error = match serde_json::from_str(&stored) {
            Ok(document) => return Ok(Json(document)),
            Err(error) => error,
        };
        // serde's text may quote the value.
        let what = match error.classify() {
            serde_json::error::Category::Data => "JSON of another shape",
            _ => "not JSON",
        };
        without_unknown_fields(&stored)
            .map(Json)
            .ok_or_else(|| format!("{what}, near character {}", error.column()).into())
    }
}

/// A text that is sealed in the database if there is a key.
pub(crate) struct Sealed<T>(pub(crate) T);

impl<T: Column<Stored = String>> Column for Sealed<T> {
    type Stored = String;

    fn to_stored(&self) -> serde_json::Result<String> {
        self.0.to_stored()
    }

    fn from_stored(stored: String) -> Result<Self, Cow<'static, str>> {
        T::from_stored(stored).map(Self)
    }

    fn cell(stored: String) -> Cell {
        Cell::ToSeal(stored)
    }

    fn opened(stored: String, open: &Opener<'_>) -> Result<String, Cow<'static, str>> {
        open(stored)
    }
}

impl<T: Column> Column for Option<T>
where
    Option<T::Stored>: Into<Cell>,
{
    type Stored = Option<T::Stored>;

    fn to_stored(&self) -> serde_json::Result<Self::Stored> {
        self.as_ref().map(T::to_stored).transpose()
    }

    fn from_stored(stored: Self::Stored) -> Result<Self, Cow<'static, str>> {
        stored.map(T::from_stored).transpose()
    }

    fn cell(stored: Self::Stored) -> Cell {
        match stored {
            Some(stored) => T::cell(stored),
            None => None.into(),
        }
    }

    fn opened(stored: Self::Stored, open: &Opener<'_>) -> Result<Self::Stored, Cow<'static, str>> {
        stored.map(|stored| T::opened(stored, open)).transpose()
    }
}

/// A value of a column as it is bound. NULL has the type of its column, too: PostgreSQL requires it.
#[derive(Clone)]
pub(crate) enum Cell {
    Text(Option<String>),
    Number(Option<i64>),
    /// A text that [`Values::sealed`](super::Values::sealed) seals.
    ToSeal(String),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Cell {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

/// A value as it is bound.
///
/// # Errors
/// `Encode` when a document cannot be written as JSON.
pub(crate) fn cell<T: Column>(
    table: &'static str,
    column: &'static str,
    value: &T,
) -> Result<Cell, StoreError> {
    value
        .to_stored()
        .map(T::cell)
        .map_err(|source| StoreError::Encode {
            table,
            column,
            source,
        })
}

/// A document as it is bound.
///
/// # Errors
/// `Encode` when it cannot be written as JSON.
pub(crate) fn document<T: Serialize>(
    table: &'static str,
    column: &'static str,
    value: &T,
) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Encode {
        table,
        column,
        source,
    })
}

/// A timestamp as it is stored.
pub(crate) fn micros(timestamp: Timestamp) -> i64 {
    timestamp.timestamp_micros()
}

/// Text as it is stored: PostgreSQL refuses the character U+0000.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
