//! The known properties of an expression: its type, and its maximum cost. Source: `cel-go` 0.26 `checker/cost.go`.

use std::sync::Arc;

use super::declared::Declared;
use super::types::Type;

/// Properties of an expression.
#[derive(Debug, Clone)]
pub struct Found {
    pub kind: Type,
    /// Maximum cost.
    pub cost: u64,
    /// Most characters or elements of its value.
    pub size: Option<u64>,
    pub entries: Option<Entries>,
    /// The place of its value in the schema.
    pub at: Option<Arc<Declared>>,
}

/// The largest keys and values of a list or map. Of a list, the keys are its indexes.
#[derive(Debug, Clone, Copy)]
pub struct Entries {
    pub keys: u64,
    pub values: u64,
}

impl Entries {
    pub fn union(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = (one?, other?);
        Some(Self {
            keys: one.keys.max(other.keys),
            values: one.values.max(other.values),
        })
    }
}

impl Found {
    pub fn of(kind: Type, cost: u64) -> Self {
        Self {
            kind,
            cost,
            size: None,
            entries: None,
            at: None,
        }
    }

    /// A faulty expression is not checked any further.
    pub fn unknown() -> Self {
        Self::of(Type::Dyn, 0)
    }

    /// Most characters or elements, as far as that is known.
    pub fn known_size(&self) -> Option<u64> {
        let of_type = || match self.kind {
            Type::Bool | Type::Int | Type::Uint | Type::Double | Type::Timestamp | Type::Duration => Some(1),
            _ => None,
        };
        self.size
            .or_else(|| self.at.as_ref().map(|at| at.most))
            .or_else(of_type)
    }

    pub fn size_or_unknown(&self) -> u64 {
        self.known_size().unwrap_or(u64::MAX)
    }
}

/// A part of each unit, rounded up.
pub fn part(units: u64, factor: f64) -> u64 {
    let product = (units as f64 * factor).ceil();
    if product >= u64::MAX as f64 {
        u64::MAX
    } else {
        product as u64
    }
}

/// To read a text once.
pub const READING: f64 = 0.1;
/// To read a regular expression: one state for four characters.
pub const STATES: f64 = 0.25;
