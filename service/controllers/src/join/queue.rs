//! The hosts that are joining one cluster.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_api::ids::{HostId, InfraEnvId};
use tokio::sync::Notify;

/// A host's key.
pub type Key = (InfraEnvId, HostId);

/// Hosts, and which of them changed.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    /// Notified when hosts changed.
    pub changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    hosts: BTreeSet<Key>,
    changed: BTreeSet<Key>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a host that is joining, and has changed.
    pub fn add(&self, host: Key) {
        let mut state = self.state();
        state.hosts.insert(host);
        state.changed.insert(host);
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a host to be read with the next assessment.
    pub fn add_silently(&self, host: Key) {
        let mut state = self.state();
        if state.hosts.contains(&host) {
            state.changed.insert(host);
        }
    }

    /// Removes a host that is no longer joining. True when none is left.
    pub fn remove(&self, host: Key) -> bool {
        let mut state = self.state();
        state.hosts.remove(&host);
        state.changed.insert(host);
        let is_empty = state.hosts.is_empty();
        drop(state);
        self.changed.notify_one();
        is_empty
    }

    pub fn hosts(&self) -> Vec<Key> {
        self.state().hosts.iter().copied().collect()
    }

    /// Hosts that changed since the last call, each with whether it is still joining.
    pub fn take_changed(&self) -> Vec<(Key, bool)> {
        let mut state = self.state();
        let changed = std::mem::take(&mut state.changed);
        changed
            .into_iter()
            .map(|host| (host, state.hosts.contains(&host)))
            .collect()
    }
}
