//! Counts hosts by the values of keys.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use muster_api::ids::{ClusterId, InfraEnvId};
use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::language::{Key, Term, each_kept, fold};
use super::natural::natural_order;

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
    /// The most frequent ones, most frequent first. Values that differ in case only are one, but for names: each InfraEnv and each
    /// cluster is a value, also where several have one name.
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
    /// The id of the InfraEnv or cluster that has the value as its name; `None` for other keys.
    pub id: Option<String>,
    /// True if another InfraEnv or cluster has this name.
    pub is_shared: bool,
    pub hosts: usize,
}

impl Facet {
    /// The term of a filter that `value` of this facet stands for, as text: by the id where the name is shared.
    pub fn term(&self, value: &FacetValue) -> String {
        let text = match &value.id {
            Some(id) if value.is_shared => id,
            Some(_) | None => &value.value,
        };
        Term::exactly(self.key, text).to_string()
    }
}

/// Counts `hosts` by the values of each of `keys` (of [`FACETS`]), at most `limit` values a key. `visible`: these and the hosts that are
/// not counted; a name that is shared among their InfraEnvs or clusters is shared.
pub fn facets<'a, H: Facts<'a>>(
    hosts: impl IntoIterator<Item = H>,
    visible: impl IntoIterator<Item = H>,
    keys: &[Key],
    limit: usize,
) -> Vec<Facet> {
    let mut counts: Vec<Count> = keys.iter().map(|key| Count::new(*key)).collect();
    if keys.iter().any(|key| has_records(*key)) {
        for host in visible {
            for count in &mut counts {
                if let Some(record) = Record::of(count.key, host) {
                    count.add_record(&record);
                }
            }
        }
    }
    for (index, host) in hosts.into_iter().enumerate() {
        for count in &mut counts {
            count.add(index, host);
        }
    }
    counts.into_iter().map(|count| count.facet(limit)).collect()
}

/// True for keys with names of records as values.
fn has_records(key: Key) -> bool {
    matches!(key, Key::Pool | Key::Cluster)
}

/// The record that a host has for a key.
enum Record<'a> {
    Pool(InfraEnvId, &'a str),
    Cluster(ClusterId, &'a str),
}

impl<'a> Record<'a> {
    /// `None` for other keys, for hosts without one, and for an InfraEnv without a name.
    fn of(key: Key, host: impl Facts<'a>) -> Option<Self> {
        match key {
            Key::Pool if host.pool().is_empty() => None,
            Key::Pool => Some(Self::Pool(host.infra_env_id(), host.pool())),
            Key::Cluster => host.cluster_id().map(|id| Self::Cluster(id, host.cluster())),
            _ => None,
        }
    }

    fn number(&self) -> u128 {
        match self {
            Self::Pool(id, _) => id.0.as_u128(),
            Self::Cluster(id, _) => id.0.as_u128(),
        }
    }

    /// Its id and its name; the id is the name where none is known.
    fn id_and_name(&self) -> (String, String) {
        let (id, name) = match self {
            Self::Pool(id, name) => (id.to_string(), *name),
            Self::Cluster(id, name) => (id.to_string(), *name),
        };
        let name = if name.is_empty() {
            id.clone()
        } else {
            name.to_owned()
        };
        (id, name)
    }
}

/// Hashes places in memory, which nobody outside chooses.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, number: usize) {
        // The golden ratio: neighbours come far from each other.
        self.0 = (self.0.rotate_left(5) ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Counts of one key.
struct Count {
    key: Key,
    values: Vec<Counted>,
    /// Index in `values` by place in memory and length: a text that hosts share is read once.
    by_place: HashMap<(usize, usize), usize, BuildHasherDefault<PlaceHasher>>,
    /// Index in `values` by spelling: a known spelling need not be folded.
    by_spelling: HashMap<String, usize>,
    /// Index in `values` by the value in lower case.
    by_folded: HashMap<String, usize>,
    /// Index in `values` by the id of the record.
    by_record: HashMap<u128, usize>,
    /// The id and the index of the last record: many hosts have the same one.
    last_record: Option<(u128, usize)>,
    unknown: usize,
}

struct Counted {
    /// The spelling that is first in the order of texts, so that the order of hosts does not matter.
    value: String,
    /// Of a record.
    id: Option<String>,
    hosts: usize,
    /// Index of the last host: a host counts once, however often it has the value.
    last: Option<usize>,
}

impl Count {
    fn new(key: Key) -> Self {
        Self {
            key,
            values: Vec::new(),
            by_place: HashMap::default(),
            by_spelling: HashMap::new(),
            by_folded: HashMap::new(),
            by_record: HashMap::new(),
            last_record: None,
            unknown: 0,
        }
    }

    /// All hosts of a count live as long: a place is that of one text.
    fn add<'a>(&mut self, index: usize, host: impl Facts<'a>) {
        if has_records(self.key) {
            match Record::of(self.key, host) {
                Some(record) => {
                    let at = self.add_record(&record);
                    self.values[at].hosts += 1;
                }
                None => self.unknown += 1,
            }
            return;
        }
        let mut is_known = false;
        each_kept(self.key, host, &mut |value| {
            is_known = true;
            let place = (value.as_ptr().addr(), value.len());
            let at = match self.by_place.get(&place) {
                Some(at) => *at,
                None => {
                    let at = self.at(value);
                    self.by_place.insert(place, at);
                    at
                }
            };
            let counted = &mut self.values[at];
            counted.hosts += usize::from(counted.last != Some(index));
            counted.last = Some(index);
        });
        self.unknown += usize::from(!is_known);
    }

    fn at(&mut self, value: &str) -> usize {
        match self.by_spelling.get(value) {
            Some(at) => *at,
            None => self.add_spelling(value),
        }
    }

    /// The index of a value in a new spelling.
    fn add_spelling(&mut self, value: &str) -> usize {
        let next = self.values.len();
        let at = *self.by_folded.entry(fold(value).into_owned()).or_insert(next);
        self.by_spelling.insert(value.to_owned(), at);
        match self.values.get_mut(at) {
            Some(counted) if value < counted.value.as_str() => value.clone_into(&mut counted.value),
            Some(_) => {}
            None => self.values.push(Counted::new(value.to_owned(), None)),
        }
        at
    }

    /// The index of a record.
    fn add_record(&mut self, record: &Record) -> usize {
        let (number, next) = (record.number(), self.values.len());
        if let Some((_, at)) = self.last_record.filter(|(last, _)| *last == number) {
            return at;
        }
        let at = *self.by_record.entry(number).or_insert(next);
        if at == next {
            let (id, name) = record.id_and_name();
            self.values.push(Counted::new(name, Some(id)));
        }
        self.last_record = Some((number, at));
        at
    }

    fn facet(self, limit: usize) -> Facet {
        let mut names: HashMap<String, usize> = HashMap::new();
        for record in self.values.iter().filter(|counted| counted.id.is_some()) {
            *names.entry(fold(&record.value).into_owned()).or_default() += 1;
        }
        let has_hosts = self.values.into_iter().filter(|counted| counted.hosts > 0);
        let mut values: Vec<FacetValue> = has_hosts.map(|counted| counted.into_value(&names)).collect();
        values.sort_by(|a, b| {
            let by_count = b.hosts.cmp(&a.hosts);
            let by_name = by_count.then_with(|| natural_order(&a.value, &b.value));
            by_name.then_with(|| a.id.cmp(&b.id))
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
    fn new(value: String, id: Option<String>) -> Self {
        Self {
            value,
            id,
            hosts: 0,
            last: None,
        }
    }

    /// `names`: the number of records with each name, in lower case.
    fn into_value(self, names: &HashMap<String, usize>) -> FacetValue {
        let records = names.get(&*fold(&self.value));
        FacetValue {
            is_shared: self.id.is_some() && records.is_some_and(|records| *records > 1),
            value: self.value,
            id: self.id,
            hosts: self.hosts,
        }
    }
}
