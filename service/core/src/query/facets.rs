//! Counts hosts by the values of keys.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::language::{Key, Term, each_value, fold};
use super::natural::natural_order;
use super::summary::HostSummary;

/// The keys that have counts.
pub const FACETS: [Key; 10] = [
    Key::State,
    Key::Pool,
    Key::Cluster,
    Key::Role,
    Key::Model,
    Key::Vendor,
    Key::Finding,
    Key::Check,
    Key::Approved,
    Key::Switch,
];

/// Counts by the values of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facet {
    pub key: Key,
    /// The most frequent ones, most frequent first. Values that differ in case only are one.
    pub values: Vec<FacetValue>,
    /// Number of further values.
    pub left_out: usize,
    /// Hosts without a value.
    pub unknown: usize,
}

/// The hosts with one value. A host may have several values of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FacetValue {
    pub value: String,
    pub hosts: usize,
}

impl Facet {
    /// The term of a filter that `value` of this facet stands for, as text; of an empty value: hosts without any.
    pub fn term(&self, value: &str) -> String {
        Term::exactly(self.key, value).to_string()
    }
}

/// Counts `hosts` by the values of each of `keys` (of [`FACETS`]), at most `limit` values a key.
pub fn facets<'a>(
    hosts: impl IntoIterator<Item = &'a HostSummary>,
    keys: &[Key],
    limit: usize,
) -> Vec<Facet> {
    let mut counts: Vec<Count> = keys.iter().map(|key| Count::new(*key)).collect();
    for (index, host) in hosts.into_iter().enumerate() {
        for count in &mut counts {
            count.add(index, host);
        }
    }
    counts.into_iter().map(|count| count.facet(limit)).collect()
}

/// Counts of one key.
struct Count {
    key: Key,
    values: Vec<Counted>,
    /// Index in `values` by spelling: a known spelling need not be folded.
    by_spelling: HashMap<String, usize>,
    /// Index in `values` by the value in lower case.
    by_folded: HashMap<String, usize>,
    unknown: usize,
}

struct Counted {
    /// The spelling that is first in the order of texts, so that the order of hosts does not matter.
    value: String,
    hosts: usize,
    /// Index of the last host: a host counts once, however often it has the value.
    last: Option<usize>,
}

impl Count {
    fn new(key: Key) -> Self {
        Self {
            key,
            values: Vec::new(),
            by_spelling: HashMap::new(),
            by_folded: HashMap::new(),
            unknown: 0,
        }
    }

    fn add(&mut self, index: usize, host: &HostSummary) {
        let mut is_known = false;
        each_value(self.key, host, &mut |value| {
            is_known = true;
            let at = match self.by_spelling.get(value) {
                Some(at) => *at,
                None => self.add_spelling(value),
            };
            let counted = &mut self.values[at];
            counted.hosts += usize::from(counted.last != Some(index));
            counted.last = Some(index);
        });
        self.unknown += usize::from(!is_known);
    }

    /// The index of a value in a new spelling.
    fn add_spelling(&mut self, value: &str) -> usize {
        let next = self.values.len();
        let at = *self.by_folded.entry(fold(value).into_owned()).or_insert(next);
        self.by_spelling.insert(value.to_owned(), at);
        match self.values.get_mut(at) {
            Some(counted) if value < counted.value.as_str() => value.clone_into(&mut counted.value),
            Some(_) => {}
            None => self.values.push(Counted::new(value)),
        }
        at
    }

    fn facet(self, limit: usize) -> Facet {
        let mut values: Vec<FacetValue> = self.values.into_iter().map(Counted::into_value).collect();
        values.sort_by(|a, b| {
            let by_count = b.hosts.cmp(&a.hosts);
            by_count.then_with(|| natural_order(&a.value, &b.value))
        });
        let left_out = values.len().saturating_sub(limit);
        values.truncate(limit);
        Facet {
            key: self.key,
            values,
            left_out,
            unknown: self.unknown,
        }
    }
}

impl Counted {
    fn new(value: &str) -> Self {
        Self {
            value: value.to_owned(),
            hosts: 0,
            last: None,
        }
    }

    fn into_value(self) -> FacetValue {
        FacetValue {
            value: self.value,
            hosts: self.hosts,
        }
    }
}
