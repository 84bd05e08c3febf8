//! Hosts without a custom resource of their InfraEnv: its finalizer was removed by hand, its namespace was forcibly deleted, or the
//! database is another cluster's. They wait until the watch shows the InfraEnv; `/ready` and a gauge report them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_core::record::KubeRef;
use muster_operations::Operations;

/// InfraEnvs that a message lists by name.
const NAMED: usize = 3;

/// The Agents to be made, by the InfraEnv that is missing.
pub struct Orphans {
    operations: Arc<Operations>,
    waiting: Mutex<BTreeMap<KubeRef, BTreeSet<KubeRef>>>,
}

impl Orphans {
    pub fn new(operations: Arc<Operations>) -> Self {
        Self {
            operations,
            waiting: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<KubeRef, BTreeSet<KubeRef>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the Agent waits for its InfraEnv.
    pub fn add(&self, infra_env: &KubeRef, agent: &KubeRef) {
        let mut waiting = self.waiting();
        if waiting
            .entry(infra_env.clone())
            .or_default()
            .insert(agent.clone())
        {
            self.report(&waiting);
        }
    }

    /// Returns the Agents that waited for the InfraEnv, which exists now.
    pub fn came(&self, infra_env: &KubeRef) -> BTreeSet<KubeRef> {
        let mut waiting = self.waiting();
        let agents = waiting.remove(infra_env);
        if agents.is_some() {
            self.report(&waiting);
        }
        agents.unwrap_or_default()
    }

    /// Removes the Agent, which waits no more.
    pub fn forget(&self, agent: &KubeRef) {
        let mut waiting = self.waiting();
        let before = waiting.values().map(BTreeSet::len).sum::<usize>();
        waiting.retain(|_, agents| {
            agents.remove(agent);
            !agents.is_empty()
        });
        if before != waiting.values().map(BTreeSet::len).sum::<usize>() {
            self.report(&waiting);
        }
    }

    fn report(&self, waiting: &BTreeMap<KubeRef, BTreeSet<KubeRef>>) {
        self.operations.bridge.remark("orphans", words(waiting));
        let count = waiting.values().map(BTreeSet::len).sum::<usize>();
        metrics::gauge!("muster_hosts_without_infra_env_resource").set(count as f64);
    }
}

fn words(waiting: &BTreeMap<KubeRef, BTreeSet<KubeRef>>) -> Option<String> {
    let count: usize = waiting.values().map(BTreeSet::len).sum();
    if count == 0 {
        return None;
    }
    let named: Vec<String> = waiting.keys().take(NAMED).map(KubeRef::to_string).collect();
    let more = if waiting.len() > NAMED { ", ..." } else { "" };
    Some(format!(
        "{count} hosts have no Agents, for their InfraEnvs have no custom resources ({}{more}): create those again",
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_a_resource_are_told_by_number_and_some_names() {
        assert_eq!(words(&BTreeMap::new()), None);
        let agents = BTreeSet::from([KubeRef::new("lab", "a"), KubeRef::new("lab", "b")]);
        let waiting: BTreeMap<_, _> = ["r1", "r2", "r3", "r4"]
            .map(|name| (KubeRef::new("lab", name), agents.clone()))
            .into();
        let said = words(&waiting).unwrap();
        assert!(
            said.starts_with("8 hosts") && said.contains("(lab/r1, lab/r2, lab/r3, ...)"),
            "{said}"
        );
    }
}
