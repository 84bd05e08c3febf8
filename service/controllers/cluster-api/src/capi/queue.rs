//! Remembers the AgentMachines that wait for an Agent where quotas order them: what each needs is known by its reconcile alone.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use muster_core::record::KubeRef;
use muster_core::rules::placement::Waiting;

/// Time after which an AgentMachine holds up no other whose reconciles do not get as far as to show that it waits.
const DOUBT: Duration = Duration::from_secs(90);

/// Time from the start within which all that wait are known: later, one that cannot be reconciled is not waited for.
const START: Duration = Duration::from_secs(30);

/// The AgentMachines that wait, by their names.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    began: OnceLock<Instant>,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<KubeRef, Entry>,
    /// Reconciled since the start; empty once that is over.
    seen: HashSet<KubeRef>,
}

#[derive(Debug)]
struct Entry {
    waiting: Arc<Waiting>,
    /// Begin of the first reconcile since the one that showed that it waits; `None`: the reconcile that runs has shown it, or the last one.
    doubted: Option<Instant>,
}

impl Entry {
    fn counts(&self, now: Instant) -> bool {
        let doubt = self.doubted.map(|since| now.saturating_duration_since(since));
        doubt.is_none_or(|doubt| doubt < DOUBT)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_starting(&self, now: Instant) -> bool {
        let began = *self.began.get_or_init(|| now);
        now.saturating_duration_since(began) < START
    }

    /// A reconcile of this AgentMachine begins.
    pub fn begin(&self, machine: &KubeRef, now: Instant) {
        if let Some(entry) = self.state().waiting.get_mut(machine) {
            entry.doubted.get_or_insert(now);
        }
    }

    /// A reconcile of this AgentMachine has ended. `is_done`: without an error. Returns true if it waits no more.
    pub fn end(&self, machine: &KubeRef, is_done: bool, now: Instant) -> bool {
        let is_starting = self.is_starting(now);
        let mut state = self.state();
        if is_starting {
            state.seen.insert(machine.clone());
        } else {
            state.seen = HashSet::new();
        }
        let is_over = |entry: &Entry| is_done && entry.doubted.is_some();
        let leaves = state.waiting.get(machine).is_some_and(is_over);
        leaves && state.waiting.remove(machine).is_some()
    }

    /// An AgentMachine waits. Returns true if it did not wait before, or cannot take the same Agents as before.
    pub fn join(&self, waiting: Waiting) -> bool {
        let mut state = self.state();
        let machine = waiting.need.machine.clone();
        state.seen.insert(machine.clone());
        let entry = Entry {
            waiting: Arc::new(waiting),
            doubted: None,
        };
        let refused = entry.waiting.refused.clone();
        let before = state.waiting.insert(machine, entry);
        before.is_none_or(|before| before.waiting.refused != refused)
    }

    /// An AgentMachine has an Agent.
    pub fn leave(&self, machine: &KubeRef) {
        self.state().waiting.remove(machine);
    }

    /// The Agents that an AgentMachine could not take when it tried last.
    pub fn refused(&self, machine: &KubeRef) -> BTreeSet<KubeRef> {
        let state = self.state();
        let entry = state.waiting.get(machine);
        entry
            .map(|entry| entry.waiting.refused.clone())
            .unwrap_or_default()
    }

    /// All that wait.
    pub fn all(&self, now: Instant) -> Vec<Arc<Waiting>> {
        let state = self.state();
        let counting = state.waiting.values().filter(|entry| entry.counts(now));
        counting.map(|entry| entry.waiting.clone()).collect()
    }

    /// Removes those for which no reconcile shows that they wait no more. `waits`: true for one that may wait still. Returns true if there are
    /// any.
    pub fn prune(&self, waits: impl Fn(&KubeRef) -> bool, now: Instant) -> bool {
        let mut state = self.state();
        let before = state.waiting.len();
        state
            .waiting
            .retain(|machine, entry| entry.counts(now) && waits(machine));
        state.waiting.len() < before
    }

    /// Number of those of the namespace `machines` that wait for Agents of the namespace `agents`.
    pub fn number(&self, agents: &str, machines: &str, now: Instant) -> usize {
        let waits =
            |one: &&Arc<Waiting>| one.need.namespace == agents && one.need.machine.namespace == machines;
        self.all(now).iter().filter(waits).count()
    }

    /// True if it is not known yet whether others come before an AgentMachine: after a start, until each was reconciled once. `others`: the
    /// AgentMachines without an Agent.
    pub fn is_incomplete(&self, others: impl FnOnce() -> Vec<KubeRef>, now: Instant) -> bool {
        if !self.is_starting(now) {
            return false;
        }
        let others = others();
        let state = self.state();
        others.iter().any(|one| !state.seen.contains(one))
    }
}

#[cfg(test)]
mod tests {
    use muster_core::rules::placement::{Hardware, Need, Open, Selector};

    use super::*;

    fn waiting(name: &str) -> Waiting {
        Waiting {
            need: Need {
                machine: KubeRef::new("c", name),
                cluster: KubeRef::new("c", "one"),
                namespace: "hardware".into(),
                open: Open::Of(BTreeSet::new()),
                selector: Selector::default(),
                failure_domain: None,
                minimum: Hardware::default(),
                imaged: None,
                architecture: None,
            },
            since: muster_api::time::Timestamp::default(),
            refused: BTreeSet::new(),
        }
    }

    #[test]
    fn one_waits_until_a_reconcile_ends_without_that_or_they_fail_for_long() {
        let (queue, now) = (Queue::default(), Instant::now());
        let name = KubeRef::new("c", "m");
        let number = |at| queue.number("hardware", "c", at);
        assert!(queue.join(waiting("m")) && !queue.join(waiting("m")));
        assert!(!queue.end(&name, true, now));
        assert_eq!((number(now), queue.number("others", "c", now)), (1, 0));
        // It need not be reconciled again to wait.
        assert_eq!(number(now + 10 * DOUBT), 1);
        // A reconcile that fails shows nothing.
        queue.begin(&name, now);
        assert!(!queue.end(&name, false, now));
        assert_eq!(number(now), 1);
        queue.begin(&name, now);
        assert!(queue.end(&name, true, now));
        assert_eq!(number(now), 0);
        queue.join(waiting("m"));
        queue.begin(&name, now);
        queue.begin(&name, now + DOUBT / 2);
        assert!(!queue.prune(|_| true, now + DOUBT / 2));
        assert_eq!(number(now + DOUBT), 0);
    }

    #[test]
    fn one_that_is_gone_without_a_reconcile_holds_up_no_other() {
        let (queue, now) = (Queue::default(), Instant::now());
        for name in ["m1", "m2"] {
            queue.join(waiting(name));
        }
        assert!(!queue.prune(|_| true, now));
        assert!(queue.prune(|machine| machine.name == "m2", now));
        assert_eq!(queue.number("hardware", "c", now), 1);
    }

    #[test]
    fn after_a_start_each_is_waited_for_until_it_is_known_or_half_a_minute_has_passed() {
        let (queue, now) = (Queue::default(), Instant::now());
        let others = || vec![KubeRef::new("c", "m1"), KubeRef::new("c", "m2")];
        assert!(queue.is_incomplete(others, now));
        queue.join(waiting("m1"));
        assert!(queue.is_incomplete(others, now));
        queue.end(&KubeRef::new("c", "m2"), false, now);
        assert!(!queue.is_incomplete(others, now));
        let more = || vec![KubeRef::new("c", "m3")];
        assert!(queue.is_incomplete(more, now));
        assert!(!queue.is_incomplete(more, now + START));
    }
}
