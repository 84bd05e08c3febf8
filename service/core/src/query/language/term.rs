//! Filters as they are read, and their canonical text.

use std::fmt;

use super::key::Key;
use super::value::Value;

/// A filter of hosts: terms that must all hold. Without any it lets every host pass.
///
/// Its text is canonical: it is read as the same filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pub(super) terms: Vec<Term>,
}

/// A term of a filter: one of its values must fit, or none if it is negated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub(super) is_negated: bool,
    /// `None`: texts are searched for.
    pub(super) key: Option<Key>,
    /// At least one.
    pub(super) values: Vec<Value>,
}

impl Query {
    /// Its terms, in the order in which they are written.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

impl Term {
    /// The key; `None`: its texts are searched for.
    pub fn key(&self) -> Option<Key> {
        self.key
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let between = if index == 0 { "" } else { " " };
            write!(f, "{between}{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negated {
            f.write_str("-")?;
        }
        if let Some(key) = self.key {
            write!(f, "{key}:")?;
        }
        for (index, value) in self.values.iter().enumerate() {
            let between = if index == 0 { "" } else { "," };
            write!(f, "{between}{value}")?;
        }
        Ok(())
    }
}
