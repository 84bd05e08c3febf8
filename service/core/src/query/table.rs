//! Many hosts in little memory: each is a row of some 500 bytes in place of a summary of 2,000, and texts that hosts have in common are
//! there once.

mod row;
mod texts;

use std::collections::HashMap;
use std::sync::Arc;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;

use super::summary::{BmcSummary, HostSummary};
use row::HostRow;
use texts::SharedTexts;

pub use row::HostView;

/// Texts that may be there beyond twice those that are used, before the unused ones are dropped.
const SPARE_TEXTS: usize = 1024;

/// Bytes of the counts of an `Arc`.
const COUNTS: usize = 16;

type Key = (InfraEnvId, HostId);

/// Hosts by their keys. Cloning shares their rows.
#[derive(Debug, Clone)]
pub struct HostTable {
    rows: HashMap<Key, Arc<HostRow>>,
    texts: SharedTexts,
    /// Number of texts at which the unused ones are dropped.
    most_texts: usize,
}

impl Default for HostTable {
    fn default() -> Self {
        Self {
            rows: HashMap::new(),
            texts: SharedTexts::default(),
            most_texts: SPARE_TEXTS,
        }
    }
}

impl HostTable {
    /// Puts a host in, in place of what is known of it.
    pub fn insert(&mut self, host: &HostSummary) {
        let row = HostRow::of(host, &mut self.texts);
        self.rows.insert((host.infra_env_id, host.id), Arc::new(row));
        if self.texts.len() > self.most_texts {
            self.drop_unused_texts();
        }
    }

    pub fn remove(&mut self, infra_env_id: InfraEnvId, id: HostId) {
        self.rows.remove(&(infra_env_id, id));
    }

    pub fn get(&self, infra_env_id: InfraEnvId, id: HostId) -> Option<HostView<'_>> {
        let row = self.rows.get(&(infra_env_id, id))?;
        Some(HostView::new(row, &self.texts))
    }

    /// All hosts, in no order.
    pub fn hosts(&self) -> impl Iterator<Item = HostView<'_>> {
        self.rows.values().map(|row| HostView::new(row, &self.texts))
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Notes a poll of a host that is there, unless a later one is known.
    pub fn note_poll(&mut self, infra_env_id: InfraEnvId, id: HostId, at: Timestamp) {
        let row = self.rows.get_mut(&(infra_env_id, id));
        if let Some(row) = row.filter(|row| row.seen_at() < at) {
            Arc::make_mut(row).set_seen_at(at);
        }
    }

    /// Gives each host the BMC that `bmc_of` has for it.
    pub fn set_bmcs<'b>(&mut self, bmc_of: impl Fn(InfraEnvId, HostId) -> Option<&'b BmcSummary>) {
        let mut changed = Vec::new();
        for view in self.hosts() {
            let (infra_env_id, id) = view.key();
            let bmc = bmc_of(infra_env_id, id);
            if view.bmc().as_ref() != bmc {
                changed.push(HostSummary {
                    bmc: bmc.cloned(),
                    ..view.summary()
                });
            }
        }
        for host in &changed {
            self.insert(host);
        }
    }

    /// The memory that it takes: a little more than the requested bytes, as allocators round them up.
    pub fn bytes(&self) -> usize {
        let each = size_of::<(Key, Arc<HostRow>)>() + 1;
        // Of the places of a hash table one in eight is free at least.
        let places = (self.rows.capacity() * 8 / 7).next_power_of_two();
        let rows = self.rows.values().map(|row| {
            let own = row.heap_sizes().into_iter().map(allocated).sum::<usize>();
            allocated(size_of::<HostRow>() + COUNTS) + own
        });
        places * each + rows.sum::<usize>() + self.texts.bytes()
    }

    /// Writes all rows again, with the texts that they use.
    fn drop_unused_texts(&mut self) {
        let mut used = SharedTexts::default();
        for row in self.rows.values_mut() {
            let host = HostView::new(row, &self.texts).summary();
            *row = Arc::new(HostRow::of(&host, &mut used));
        }
        self.most_texts = 2 * used.len() + SPARE_TEXTS;
        self.texts = used;
    }
}

/// The bytes of an allocation: sizes have four steps from one power of two to the next.
fn allocated(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        1..=128 => bytes.next_multiple_of(16),
        _ => bytes.next_multiple_of(bytes.next_power_of_two() / 8),
    }
}

#[cfg(test)]
mod tests {
    use super::allocated;

    #[test]
    fn allocations_are_rounded_up() {
        for (bytes, taken) in [
            (0, 0),
            (1, 16),
            (128, 128),
            (129, 160),
            (200, 224),
            (256, 256),
            (257, 320),
        ] {
            assert_eq!(allocated(bytes), taken, "{bytes}");
        }
    }
}
