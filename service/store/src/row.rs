//! Converts rows to values and values to rows, with errors that name table, key and column.

use std::borrow::Cow;

use muster_api::bmc::BmcPhase;
use muster_api::boot::BootFile;
use muster_api::event::{Category, Severity};
use muster_api::host::HostStatus;
use muster_api::ids::{BmcId, ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::KubeRef;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, Row};

use crate::error::StoreError;
use crate::lenient::without_unknown_fields;
use crate::vault::{Place, Vault};

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

text_columns!("not an id": HostId, InfraEnvId, ClusterId, BmcId);
text_columns!("unknown name": BmcPhase, BootFile, HostStatus, Severity, Category);

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
    /// A text that [`Values::sealed`] seals.
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

/// Declares the type of a table's rows. Its fields are the columns: this is the one place where they are listed.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $name:ident$(<$life:lifetime>)? of $table:literal by [$($key:ident),+] {
            $first:ident: $first_type:ty, $($field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        pub(crate) struct $name$(<$life>)? {
            pub(crate) $first: $first_type,
            $(pub(crate) $field: $type,)*
        }

        impl$(<$life>)? $name$(<$life>)? {
            pub(crate) const TABLE: &'static str = $table;

            /// The columns that name a row.
            pub(crate) const KEY: &'static [&'static str] = &[$(stringify!($key)),+];

            /// For a `SELECT`.
            pub(crate) const COLUMNS: &'static str = concat!(stringify!($first) $(, ", ", stringify!($field))*);

            /// # Errors
            /// `Corrupt` when a column cannot be read.
            pub(crate) fn read(reading: &$crate::row::Reading<'_>) -> $crate::Result<Self> {
                Ok(Self {
                    $first: reading.get(stringify!($first))?,
                    $($field: reading.get(stringify!($field))?,)*
                })
            }

            /// # Errors
            /// `Encode` when a document cannot be written as JSON, `Sealing` when it cannot be sealed.
            pub(crate) fn values(&self, vault: &$crate::Vault) -> $crate::Result<$crate::row::Values> {
                let cells = vec![
                    (stringify!($first), $crate::row::cell($table, stringify!($first), &self.$first)?),
                    $((stringify!($field), $crate::row::cell($table, stringify!($field), &self.$field)?),)*
                ];
                $crate::row::Values::new($table, cells).sealed(vault, Self::KEY)
            }
        }
    };
}
pub(crate) use row;

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

/// The values of a row, as parameters `$1`, `$2`, ... of a statement.
#[derive(Clone)]
pub(crate) struct Values {
    table: &'static str,
    cells: Vec<(&'static str, Cell)>,
}

impl Values {
    pub(crate) fn new(table: &'static str, cells: Vec<(&'static str, Cell)>) -> Self {
        Self { table, cells }
    }

    /// Seals the values that have to be sealed. `key`: the columns that identify the row.
    ///
    /// # Errors
    /// `Sealing`.
    pub(crate) fn sealed(mut self, vault: &Vault, key: &[&str]) -> Result<Self, StoreError> {
        let table = self.table;
        let named = key.iter().filter_map(|part| {
            self.cells.iter().find_map(|(column, cell)| match cell {
                Cell::Text(Some(text)) if column == part => Some(text.as_str()),
                _ => None,
            })
        });
        let id = named.collect::<Vec<_>>().join("/");
        for (column, cell) in &mut self.cells {
            if let Cell::ToSeal(text) = cell {
                let place = Place {
                    table,
                    column,
                    id: &id,
                };
                let sealed = vault.seal(&place, std::mem::take(text))?;
                *cell = Cell::Text(Some(sealed));
            }
        }
        Ok(self)
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Leaves columns out: an `UPDATE` does not change them.
    pub(crate) fn without(mut self, columns: &[&str]) -> Self {
        self.cells.retain(|(column, _)| !columns.contains(column));
        self
    }

    /// The parameter that holds a column's value.
    pub(crate) fn parameter(&self, column: &str) -> String {
        format!("${}", self.place(column))
    }

    /// The place of a column among the values, from 1.
    pub(crate) fn place(&self, column: &str) -> usize {
        let at = self.cells.iter().position(|(own, _)| *own == column);
        at.expect("a column of the row") + 1
    }

    /// The columns, in the order of the values.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.cells.iter().map(|(column, _)| *column)
    }

    /// The same row with another version.
    pub(crate) fn with_version(mut self, version: i64) -> Self {
        for (column, cell) in &mut self.cells {
            if *column == "version" {
                *cell = Cell::Number(Some(version));
            }
        }
        self
    }

    /// Stores the row as a new one.
    pub(crate) fn insert(&self) -> String {
        let columns: Vec<&str> = self.cells.iter().map(|(column, _)| *column).collect();
        let parameters: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
        format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.table,
            columns.join(", "),
            parameters.join(", ")
        )
    }

    /// Updates the row with the same `key` that is not deleted and has the version before the new one. `assigned` returns the expression
    /// that a column is set to, from its name and its parameter.
    pub(crate) fn update(&self, key: &[&str], assigned: impl Fn(&str, String) -> String) -> String {
        format!("{} AND deleted_at IS NULL", self.update_with(key, assigned))
    }

    /// Like [`Self::update`], for a table without deleted rows; sets the new values as they are.
    pub(crate) fn update_versioned(&self, key: &[&str]) -> String {
        self.update_with(key, |_, new| new)
    }

    fn update_with(&self, key: &[&str], assigned: impl Fn(&str, String) -> String) -> String {
        let (mut set, mut found) = (Vec::new(), Vec::new());
        for (column, _) in &self.cells {
            let parameter = self.parameter(column);
            if key.contains(column) {
                found.push(format!("{column} = {parameter}"));
            } else {
                set.push(format!("{column} = {}", assigned(column, parameter)));
            }
        }
        format!(
            "UPDATE {} SET {} WHERE {} AND version = {} - 1",
            self.table,
            set.join(", "),
            found.join(" AND "),
            self.parameter("version")
        )
    }

    /// Binds the values, in their order.
    pub(crate) fn bind<'q>(self, query: Query<'q, Any, AnyArguments>) -> Query<'q, Any, AnyArguments> {
        self.cells.into_iter().fold(query, |query, (_, cell)| match cell {
            Cell::Text(text) => query.bind(text),
            Cell::ToSeal(_) => unreachable!("`row!` seals values when it makes them"),
            Cell::Number(number) => query.bind(number),
        })
    }
}

/// One row being read.
pub(crate) struct Reading<'r> {
    row: &'r AnyRow,
    table: &'static str,
    id: String,
    vault: Option<&'r Vault>,
}

impl<'r> Reading<'r> {
    /// `key` are the columns that name the row. It has no sealed column.
    pub(crate) fn new(row: &'r AnyRow, table: &'static str, key: &[&str]) -> Self {
        let parts: Vec<String> = key
            .iter()
            .map(|column| row.try_get::<String, _>(*column).unwrap_or_else(|_| "?".into()))
            .collect();
        Self {
            row,
            table,
            id: parts.join("/"),
            vault: None,
        }
    }

    /// The same row, with the keys of its sealed columns.
    pub(crate) fn sealed(self, vault: &'r Vault) -> Self {
        Self {
            vault: Some(vault),
            ..self
        }
    }

    /// The value of a column.
    ///
    /// # Errors
    /// `Corrupt` when it is not one of its type.
    pub(crate) fn get<T: Column>(&self, column: &'static str) -> Result<T, StoreError> {
        self.get_of(self.table, column, column)
    }

    /// The length of a text; 0 where there is none.
    pub(crate) fn length(&self, column: &str) -> usize {
        let text = self.row.try_get::<Option<&str>, _>(column).ok().flatten();
        text.map_or(0, str::len)
    }

    /// [`Reading::get`] for a value of `place`, a column of another `table` with the same key.
    ///
    /// # Errors
    /// As [`Reading::get`].
    pub(crate) fn get_of<T: Column>(
        &self,
        table: &'static str,
        place: &'static str,
        column: &'static str,
    ) -> Result<T, StoreError> {
        // The driver's own text would print the value.
        let stored = self.row.try_get(column).map_err(|error| match error {
            sqlx::Error::ColumnNotFound(_) => self.corrupt(column, "no such column".into()),
            _ => self.corrupt(column, "not of the column's type".into()),
        })?;
        let place = Place {
            table,
            column: place,
            id: &self.id,
        };
        let open = |text| match self.vault {
            Some(vault) => vault.open(&place, text),
            None => Vault::default().open(&place, text),
        };
        T::opened(stored, &open)
            .and_then(T::from_stored)
            .map_err(|reason| self.corrupt(column, reason))
    }

    /// The error of a column that cannot be read; `reason` never quotes the value.
    pub(crate) fn corrupt(&self, column: &'static str, reason: Cow<'static, str>) -> StoreError {
        StoreError::Corrupt {
            table: self.table,
            id: self.id.clone(),
            column,
            reason: reason.into_owned(),
        }
    }
}

/// The custom resource that a record belongs to.
pub(crate) fn kube_ref(namespace: Option<String>, name: Option<String>) -> Option<KubeRef> {
    namespace
        .zip(name)
        .map(|(namespace, name)| KubeRef { namespace, name })
}

/// Namespace and name of the custom resource that a record belongs to.
pub(crate) fn kube_columns(kube: Option<&KubeRef>) -> (Option<String>, Option<String>) {
    (
        kube.map(|kube| kube.namespace.clone()),
        kube.map(|kube| kube.name.clone()),
    )
}

/// A timestamp as it is stored.
pub(crate) fn micros(timestamp: Timestamp) -> i64 {
    timestamp.timestamp_micros()
}

/// Text as it is stored: PostgreSQL refuses the character U+0000.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
