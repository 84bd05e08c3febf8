//! The cache of all Agents: kube's reflector, into which own writes are entered as soon as the API server has responded.
//!
//! So a reconcile that follows a write sees its result. The event of the watch for that write is recognised and triggers nothing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::ResourceExt;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use muster_controller::references::{kube_ref, object_ref};
use muster_core::record::KubeRef;
use tokio::sync::Notify;

use super::cached::CachedAgent;

/// A change that others made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The spec changed, or a deletion was requested: a user waits for it.
    Requested,
    /// Another part changed, or the Agent is new.
    Updated,
    /// The Agent was deleted.
    Gone,
}

/// All Agents as last seen: in an event of the watch or in the response to an own write, whichever is newer.
pub struct AgentCache {
    store: Store<CachedAgent>,
    state: Mutex<State>,
    /// Notified when Agents are created, changed or deleted.
    pub changed: Notify,
}

struct State {
    writer: Writer<CachedAgent>,
    /// `Some` while the watch lists all Agents again. The store shows the result at its end.
    listing: Option<Listing>,
}

#[derive(Default)]
struct Listing {
    seen: HashSet<KubeRef>,
    /// Agents written since the list began: what is listed may be older.
    answered: HashSet<KubeRef>,
    changes: Vec<(KubeRef, Change)>,
}

impl Default for AgentCache {
    fn default() -> Self {
        let writer = Writer::default();
        Self {
            store: writer.as_reader(),
            state: Mutex::new(State {
                writer,
                listing: None,
            }),
            changed: Notify::new(),
        }
    }
}

impl AgentCache {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn store(&self) -> Store<CachedAgent> {
        self.store.clone()
    }

    pub fn get(&self, key: &KubeRef) -> Option<Arc<CachedAgent>> {
        self.store.get(&object_ref(key))
    }

    pub fn all(&self) -> Vec<Arc<CachedAgent>> {
        self.store.state()
    }

    /// The Agents for which `wanted` holds.
    pub fn keys(&self, wanted: impl Fn(&CachedAgent) -> bool) -> Vec<KubeRef> {
        let found = self.store.state_filter(wanted);
        found.iter().map(|agent| kube_ref(&**agent)).collect()
    }

    /// Stores an event of the watch, and returns what others changed. The changes of a list are returned when the list is complete.
    pub fn observe(&self, event: Event<CachedAgent>) -> Vec<(KubeRef, Change)> {
        let mut state = self.state();
        let changes = match event {
            Event::Init => {
                state.writer.apply_watcher_event(&Event::Init);
                state.listing = Some(Listing::default());
                Vec::new()
            }
            Event::InitApply(agent) => {
                let key = kube_ref(&agent);
                let listing = state.listing.get_or_insert_default();
                let is_written = listing.answered.contains(&key);
                let (newest, change) = self.listed(&key, agent, is_written);
                state.writer.apply_watcher_event(&Event::InitApply(newest));
                let listing = state.listing.get_or_insert_default();
                listing.changes.extend(change.map(|change| (key.clone(), change)));
                listing.seen.insert(key);
                Vec::new()
            }
            Event::InitDone => {
                let listing = state.listing.take().unwrap_or_default();
                let gone = self.keys(|agent| !listing.seen.contains(&kube_ref(agent)));
                state.writer.apply_watcher_event(&Event::InitDone);
                let gone = gone.into_iter().map(|key| (key, Change::Gone));
                listing.changes.into_iter().chain(gone).collect()
            }
            Event::Apply(agent) => {
                let key = kube_ref(&agent);
                let change = self.change(&key, &agent);
                // The result of an own write is stored already.
                if change.is_some() {
                    state.writer.apply_watcher_event(&Event::Apply(agent));
                }
                change.map(|change| (key, change)).into_iter().collect()
            }
            Event::Delete(agent) => {
                let key = kube_ref(&agent);
                let known = self.get(&key);
                if known.is_some_and(|known| known.metadata.uid == agent.metadata.uid) {
                    state.writer.apply_watcher_event(&Event::Delete(agent));
                }
                vec![(key, Change::Gone)]
            }
        };
        drop(state);
        self.changed.notify_one();
        changes
    }

    /// Compares `agent` with the cached one; `None`: the Agent changes nothing.
    fn change(&self, key: &KubeRef, agent: &CachedAgent) -> Option<Change> {
        let Some(known) = self.get(key) else {
            return Some(Change::Updated);
        };
        if agent.is_covered_by(&known) {
            return None;
        }
        let is_requested = agent.spec != known.spec || agent.is_deleting() != known.is_deleting();
        Some(match is_requested {
            true => Change::Requested,
            false => Change::Updated,
        })
    }

    /// The Agent to cache where a list contains `agent`, and the change that it makes. A list is the truth: an object that is older
    /// than the cached one comes from a backup, unless the Agent `is_written` since the list began.
    fn listed(&self, key: &KubeRef, agent: CachedAgent, is_written: bool) -> (CachedAgent, Option<Change>) {
        match (self.change(key, &agent), self.get(key)) {
            (None, Some(known)) if is_written || known.resource_version() == agent.resource_version() => {
                ((*known).clone(), None)
            }
            (change, _) => (agent, Some(change.unwrap_or(Change::Updated))),
        }
    }

    /// Stores the response to an own write or to a read. Returns the newest version that is known.
    pub fn answered(&self, agent: CachedAgent) -> Arc<CachedAgent> {
        let key = kube_ref(&agent);
        let is_gone = agent.is_deleting() && agent.finalizers().is_empty();
        let mut state = self.state();
        if let Some(known) = self.get(&key)
            && agent.is_covered_by(&known)
        {
            return known;
        }
        if is_gone {
            state.writer.apply_watcher_event(&Event::Delete(agent.clone()));
        } else {
            state.writer.apply_watcher_event(&Event::Apply(agent.clone()));
            if let Some(listing) = &mut state.listing {
                listing.answered.insert(key.clone());
                listing.seen.insert(key);
                state.writer.apply_watcher_event(&Event::InitApply(agent.clone()));
            }
        }
        drop(state);
        self.changed.notify_one();
        Arc::new(agent)
    }

    /// Removes an Agent that the API server does not have.
    pub fn remove(&self, agent: &CachedAgent) {
        self.state()
            .writer
            .apply_watcher_event(&Event::Delete(agent.clone()));
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use muster_resources::{Agent, AgentSpec};

    use super::*;

    fn agent(version: u64, hostname: &str) -> CachedAgent {
        let mut agent = Agent::new("a", AgentSpec::default());
        agent.metadata.namespace = Some("lab".into());
        agent.metadata.uid = Some("u".into());
        agent.metadata.resource_version = Some(version.to_string());
        agent.metadata.finalizers = Some(vec!["held".into()]);
        agent.spec.hostname = Some(hostname.into());
        agent.into()
    }

    fn key() -> KubeRef {
        KubeRef::new("lab", "a")
    }

    fn hostname(agents: &AgentCache) -> Option<String> {
        agents.get(&key())?.spec.hostname.clone()
    }

    fn applied(agents: &AgentCache, version: u64, hostname: &str) -> Option<Change> {
        let changes = agents.observe(Event::Apply(agent(version, hostname)));
        changes.first().map(|(_, change)| *change)
    }

    #[test]
    fn own_writes_that_come_back_change_nothing_and_requests_of_users_are_recognised() {
        let agents = AgentCache::default();
        assert_eq!(applied(&agents, 5, "one"), Some(Change::Updated));
        agents.answered(agent(7, "one"));
        assert_eq!(applied(&agents, 6, "zero"), None, "older than our write");
        assert_eq!(hostname(&agents).as_deref(), Some("one"));
        assert_eq!(applied(&agents, 7, "one"), None);
        assert_eq!(applied(&agents, 8, "two"), Some(Change::Requested));
        assert_eq!(applied(&agents, 9, "two"), Some(Change::Updated));
        agents.answered(agent(8, "late"));
        assert_eq!(
            hostname(&agents).as_deref(),
            Some("two"),
            "an answer that comes late changes nothing"
        );
    }

    #[test]
    fn what_a_list_shows_is_so_also_when_it_is_older_as_after_a_restored_backup() {
        let agents = AgentCache::default();
        applied(&agents, 900, "one");
        agents.observe(Event::Init);
        agents.observe(Event::InitApply(agent(5, "of the backup")));
        let changes = agents.observe(Event::InitDone);
        assert_eq!(changes, [(key(), Change::Updated)]);
        assert_eq!(hostname(&agents).as_deref(), Some("of the backup"));
        assert_eq!(applied(&agents, 6, "next"), Some(Change::Requested));
    }

    #[test]
    fn what_a_list_does_not_show_is_gone_unless_it_was_just_written() {
        let agents = AgentCache::default();
        let listed = |events: Vec<Event<CachedAgent>>| -> Vec<(KubeRef, Change)> {
            events
                .into_iter()
                .flat_map(|event| agents.observe(event))
                .collect()
        };
        let all = listed(vec![
            Event::Init,
            Event::InitApply(agent(5, "one")),
            Event::InitDone,
        ]);
        assert_eq!(all, [(key(), Change::Updated)]);
        let same = listed(vec![
            Event::Init,
            Event::InitApply(agent(5, "one")),
            Event::InitDone,
        ]);
        assert!(same.is_empty(), "{same:?}");
        let edited = listed(vec![
            Event::Init,
            Event::InitApply(agent(6, "two")),
            Event::InitDone,
        ]);
        assert_eq!(edited, [(key(), Change::Requested)]);
        let gone = listed(vec![Event::Init, Event::InitDone]);
        assert_eq!(gone, [(key(), Change::Gone)]);

        agents.observe(Event::Init);
        agents.answered(agent(7, "made meanwhile"));
        assert!(agents.observe(Event::InitDone).is_empty());
        assert_eq!(hostname(&agents).as_deref(), Some("made meanwhile"));

        agents.observe(Event::Init);
        agents.observe(Event::InitApply(agent(7, "made meanwhile")));
        agents.answered(agent(8, "written meanwhile"));
        agents.observe(Event::InitDone);
        assert_eq!(hostname(&agents).as_deref(), Some("written meanwhile"));

        let mut last = agent(9, "released");
        last.metadata.finalizers = None;
        last.metadata.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).ok();
        agents.answered(last);
        assert_eq!(
            hostname(&agents),
            None,
            "without finalizers it is gone with this write"
        );
    }
}
