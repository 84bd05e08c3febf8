//! Counts the hosts that each term of a filter removes, to explain an empty result.

use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::language::Query;

/// The share of one term in a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Canonical text of the term.
    pub term: String,
    /// Hosts that do not pass it.
    pub removes: usize,
    /// Hosts that pass all other terms, and not this one: they would be in the result without it.
    pub removes_alone: usize,
}

/// Counts for each term of `query`, in order, the hosts that it removes at the time `now`.
pub fn removals<'a, H: Facts<'a>>(
    query: &Query,
    hosts: impl IntoIterator<Item = H>,
    now: Timestamp,
) -> Vec<Removal> {
    let terms = query.terms().iter();
    let mut removals: Vec<Removal> = terms.map(|term| Removal::none(term.to_string())).collect();
    for host in hosts {
        let terms = query.terms().iter().enumerate();
        let failed = terms.filter(|(_, term)| !term.matches(host, now));
        let failed: Vec<usize> = failed.map(|(index, _)| index).collect();
        for index in &failed {
            removals[*index].removes += 1;
        }
        if let [index] = failed[..] {
            removals[index].removes_alone += 1;
        }
    }
    removals
}

impl Removal {
    fn none(term: String) -> Self {
        Self {
            term,
            removes: 0,
            removes_alone: 0,
        }
    }
}
