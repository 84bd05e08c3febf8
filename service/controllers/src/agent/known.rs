//! Agents as this service last saw them: by the watch, or in the answer to a write of its own, whichever is newer.
//!
//! Ten thousand Agents with their inventories would be hundreds of megabytes, so what is large is kept as a digest: enough to know
//! whether there is something to write.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::ResourceExt;
use muster_core::kube::KubeRef;
use muster_resources::{Agent, AgentStatus};
use serde::Serialize;
use tokio::sync::Notify;

use crate::kube_ref;

/// Texts longer than this are kept as digests, bytes.
const LONG: usize = 160;
/// Begins what stands for a long text; no annotation begins with it.
const DIGEST_MARK: &str = "\u{1}digest:";

/// An Agent, without what is large.
#[derive(Debug, Clone)]
pub struct Known {
    /// Without managed fields, inventory and checks; long annotations are [`short`].
    pub agent: Agent,
    /// Of `status.inventory`; `None`: there is none.
    pub inventory: Option<u64>,
    /// Of `status.validationsInfo`; `None`: there is none.
    pub validations: Option<u64>,
    /// Categories of `status.validationsInfo`.
    pub categories: Vec<String>,
}

impl Known {
    /// Strips `agent`.
    pub fn of(mut agent: Agent) -> Self {
        agent.metadata.managed_fields = None;
        for text in agent.annotations_mut().values_mut() {
            if text.len() > LONG {
                *text = short(text);
            }
        }
        let (inventory, validations, categories) = match &mut agent.status {
            Some(status) => strip(status),
            None => (None, None, Vec::new()),
        };
        Self {
            agent,
            inventory,
            validations,
            categories,
        }
    }

    /// Whether it is the object that `other` is, and no newer. Source: resource versions of one kind can be compared as numbers since
    /// Kubernetes 1.35; etcd's always could.
    fn is_covered_by(&self, other: &Self) -> bool {
        let version =
            |known: &Self| -> Option<u64> { known.agent.metadata.resource_version.as_deref()?.parse().ok() };
        let newer = match (version(self), version(other)) {
            (Some(own), Some(others)) => own > others,
            (None, _) | (_, None) => true,
        };
        !newer && self.agent.metadata.uid == other.agent.metadata.uid
    }

    /// Its status, stripped.
    pub fn status(&self) -> AgentStatus {
        self.agent.status.clone().unwrap_or_default()
    }

    /// Somebody wants it gone.
    pub fn is_deleting(&self) -> bool {
        self.agent.metadata.deletion_timestamp.is_some()
    }
}

/// Takes inventory and checks out of a status, and answers their digests and the categories of the checks.
pub fn strip(status: &mut AgentStatus) -> (Option<u64>, Option<u64>, Vec<String>) {
    let inventory = status.inventory.take().map(|inventory| digest(&inventory));
    let checks = std::mem::take(&mut status.validations_info);
    let validations = (!checks.is_empty()).then(|| digest(&checks));
    (inventory, validations, checks.into_keys().collect())
}

/// The same for equal values, in this process.
pub fn digest<T: Serialize>(value: &T) -> u64 {
    let text =
        serde_json::to_vec(value).expect("resources have text keys and finite numbers, so they are JSON");
    hashed(&text)
}

fn hashed(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// A text, or its digest when it is long: equal for equal texts.
pub fn short(text: &str) -> String {
    if text.len() > LONG {
        format!("{DIGEST_MARK}{:016x}", hashed(text.as_bytes()))
    } else {
        text.to_owned()
    }
}

/// What is to be made of something that the watch showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// Our own write, or something older.
    Known,
    /// Somebody's wish: another spec, or its deletion.
    Wish,
    /// Anything else.
    News,
}

/// All Agents.
#[derive(Default)]
pub struct Agents {
    known: RwLock<HashMap<KubeRef, Slot>>,
    round: std::sync::atomic::AtomicU64,
    /// Rung when labels of some Agent changed, or Agents came or went.
    pub relabelled: Notify,
}

struct Slot {
    known: Arc<Known>,
    /// The round of listing in which it was last seen.
    round: u64,
}

impl Agents {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<KubeRef, Slot>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<KubeRef, Slot>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of them.
    pub fn get(&self, key: &KubeRef) -> Option<Arc<Known>> {
        self.read().get(key).map(|slot| slot.known.clone())
    }

    /// Those for which `wanted` holds.
    pub fn keys(&self, wanted: impl Fn(&Known) -> bool) -> Vec<KubeRef> {
        let known = self.read();
        let found = known.iter().filter(|(_, slot)| wanted(&slot.known));
        found.map(|(key, _)| key.clone()).collect()
    }

    /// Calls `each` with all.
    pub fn each(&self, mut each: impl FnMut(&KubeRef, &Known)) {
        for (key, slot) in &*self.read() {
            each(key, &slot.known);
        }
    }

    fn round(&self) -> u64 {
        self.round.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// All are listed anew from here on.
    pub fn begin_listing(&self) {
        self.round.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// All have been listed: those that were not seen are gone. Answers them.
    pub fn end_listing(&self) -> Vec<KubeRef> {
        let round = self.round();
        let mut gone = Vec::new();
        self.write().retain(|key, slot| {
            let stays = slot.round >= round;
            if !stays {
                gone.push(key.clone());
            }
            stays
        });
        self.relabelled.notify_one();
        gone
    }

    /// The watch showed `agent`.
    pub fn observe(&self, agent: Agent) -> (KubeRef, Observed) {
        let new = Known::of(agent);
        let key = kube_ref(&new.agent);
        let round = self.round();
        let mut all = self.write();
        let observed = match all.entry(key.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(Slot {
                    known: Arc::new(new),
                    round,
                });
                Observed::News
            }
            Entry::Occupied(mut entry) => {
                let slot = entry.get_mut();
                slot.round = round;
                let old = &slot.known;
                if new.is_covered_by(old) {
                    return (key, Observed::Known);
                }
                let wish = new.agent.spec != old.agent.spec || new.is_deleting() != old.is_deleting();
                slot.known = Arc::new(new);
                if wish { Observed::Wish } else { Observed::News }
            }
        };
        drop(all);
        self.relabelled.notify_one();
        (key, observed)
    }

    /// The watch showed that `agent` is gone.
    pub fn gone(&self, agent: &Agent) -> KubeRef {
        let key = kube_ref(agent);
        let mut all = self.write();
        if all
            .get(&key)
            .is_some_and(|slot| slot.known.agent.metadata.uid == agent.metadata.uid)
        {
            all.remove(&key);
        }
        drop(all);
        self.relabelled.notify_one();
        key
    }

    /// There is no such Agent, as its server says.
    pub fn forget(&self, key: &KubeRef) {
        self.write().remove(key);
        self.relabelled.notify_one();
    }

    /// A write of our own was answered with `agent`. Answers the newest that is known.
    pub fn wrote(&self, agent: Agent) -> Arc<Known> {
        let gone = agent.metadata.deletion_timestamp.is_some() && agent.finalizers().is_empty();
        let new = Arc::new(Known::of(agent));
        let key = kube_ref(&new.agent);
        let round = self.round();
        let mut all = self.write();
        let newest = match all.entry(key) {
            Entry::Occupied(entry) if gone => {
                entry.remove();
                new
            }
            Entry::Vacant(_) if gone => new,
            Entry::Occupied(mut entry) => {
                let slot = entry.get_mut();
                if !new.is_covered_by(&slot.known) {
                    slot.known = new;
                }
                slot.round = round;
                slot.known.clone()
            }
            Entry::Vacant(entry) => entry.insert(Slot { known: new, round }).known.clone(),
        };
        drop(all);
        self.relabelled.notify_one();
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(version: u64, hostname: &str) -> Agent {
        let mut agent = Agent::new("a", muster_resources::AgentSpec::default());
        agent.metadata.namespace = Some("lab".into());
        agent.metadata.uid = Some("u".into());
        agent.metadata.resource_version = Some(version.to_string());
        agent.metadata.finalizers = Some(vec!["held".into()]);
        agent.spec.hostname = Some(hostname.into());
        agent
    }

    fn hostname(agents: &Agents) -> Option<String> {
        let known = agents.get(&KubeRef::new("lab", "a"))?;
        known.agent.spec.hostname.clone()
    }

    #[test]
    fn own_writes_come_back_as_known_and_wishes_are_told_apart() {
        let agents = Agents::default();
        assert_eq!(agents.observe(agent(5, "one")).1, Observed::News);
        agents.wrote(agent(7, "one"));
        assert_eq!(
            agents.observe(agent(6, "zero")).1,
            Observed::Known,
            "older than our write"
        );
        assert_eq!(agents.observe(agent(7, "one")).1, Observed::Known);
        assert_eq!(agents.observe(agent(8, "two")).1, Observed::Wish);
        assert_eq!(agents.observe(agent(9, "two")).1, Observed::News);
        agents.wrote(agent(8, "late"));
        assert_eq!(
            hostname(&agents).as_deref(),
            Some("two"),
            "an answer that comes late changes nothing"
        );
    }

    #[test]
    fn what_a_listing_does_not_show_is_gone_unless_it_was_just_written() {
        let agents = Agents::default();
        agents.observe(agent(5, "one"));
        agents.begin_listing();
        assert_eq!(agents.end_listing(), [KubeRef::new("lab", "a")]);
        agents.begin_listing();
        agents.wrote(agent(6, "made meanwhile"));
        assert!(agents.end_listing().is_empty());
        let mut last = agent(7, "released");
        last.metadata.finalizers = None;
        last.metadata.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).ok();
        agents.wrote(last);
        assert_eq!(
            hostname(&agents),
            None,
            "without finalizers it is gone with this write"
        );
    }

    #[test]
    fn long_texts_are_kept_as_digests_that_tell_them_apart() {
        let (one, other) = ("x".repeat(500), "y".repeat(500));
        assert_eq!(short(&one), short(&one));
        assert_ne!(short(&one), short(&other));
        assert!(short(&one).len() < 64);
        assert_eq!(short("short"), "short");
    }
}
