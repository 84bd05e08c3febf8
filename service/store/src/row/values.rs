//! The values of a row, and the statements that write them.

use sqlx::Any;
use sqlx::any::AnyArguments;
use sqlx::query::Query;

use super::column::Cell;
use crate::error::StoreError;
use crate::vault::{Place, Vault};

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
