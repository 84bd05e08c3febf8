//! Counts the Agents of all quotas of a namespace at once: each is compared with all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_api::time::now;
use muster_core::rules::placement::{Usage, usage};

use crate::capi::provider::Provider;
use crate::capi::quotas::OfNamespace;

/// What was counted since the last change, by namespace.
#[derive(Default)]
pub struct Counts(Mutex<HashMap<String, Arc<Count>>>);

/// The quotas of a namespace.
pub struct Count {
    pub quotas: OfNamespace,
    /// Of those in force, in their order.
    pub usage: Vec<Usage>,
}

impl Counts {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<Count>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has changed that is counted.
    pub fn renew(&self) {
        self.known().clear();
    }

    pub fn of(&self, namespace: &str, provider: &Provider) -> Arc<Count> {
        // Held while it counts, so that one does for all, and nothing from before a change stays.
        let mut known = self.known();
        if let Some(count) = known.get(namespace) {
            return count.clone();
        }
        let count = Arc::new(Count::new(namespace, provider));
        known.insert(namespace.to_owned(), count.clone());
        count
    }
}

impl Count {
    fn new(namespace: &str, provider: &Provider) -> Self {
        let quotas = provider.quotas_of(namespace);
        let agents = provider.agents.state();
        let candidates = agents.iter().map(|agent| &agent.candidate);
        let candidates = candidates.filter(|one| one.host.namespace == namespace);
        let usage = usage(&quotas.in_force, candidates, now());
        Self { quotas, usage }
    }
}
