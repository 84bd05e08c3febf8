//! Reads the columns of one row, with errors that name table, key and column.

use std::borrow::Cow;

use sqlx::Row;
use sqlx::any::AnyRow;

use super::column::Column;
use crate::error::StoreError;
use crate::vault::{Place, Vault};

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
