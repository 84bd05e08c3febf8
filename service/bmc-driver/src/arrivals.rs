//! Hosts that changed, in any process: one of them may be the machine that a BMC has booted.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_api::ids::{HostId, InfraEnvId};
use muster_operations::hosts::Hosts;
use tokio::sync::Notify;

/// Most hosts in the queue. Further ones are found when their BMCs are checked.
const MOST: usize = 10_000;

type Key = (InfraEnvId, HostId);

/// The queue of these hosts, each once.
#[derive(Default)]
pub(crate) struct Arrivals {
    hosts: Mutex<HashSet<Key>>,
    filled: Notify,
}

impl Arrivals {
    pub(crate) fn of(hosts: &Hosts) -> Arc<Self> {
        let arrivals = Arc::new(Self::default());
        let filled = arrivals.clone();
        hosts.on_change(move |key| filled.add(key));
        arrivals
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, key: Key) {
        let mut waiting = self.waiting();
        if waiting.len() < MOST {
            waiting.insert(key);
        }
        drop(waiting);
        self.filled.notify_one();
    }

    /// Waits until hosts are queued.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Takes the queued hosts, by InfraEnv.
    pub(crate) fn take(&self) -> HashMap<InfraEnvId, Vec<HostId>> {
        let mut by_infra_env: HashMap<InfraEnvId, Vec<HostId>> = HashMap::new();
        for (infra_env_id, id) in std::mem::take(&mut *self.waiting()) {
            by_infra_env.entry(infra_env_id).or_default().push(id);
        }
        by_infra_env
    }
}
