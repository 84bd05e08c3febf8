//! Stores what joining hosts wait for, for the conditions and Events of their Agents.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures_util::Stream;
use muster_core::record::KubeRef;

use crate::announced::Announced;

/// Something that a host waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    /// A sentence without a full stop.
    pub what: String,
    /// Sentences with advice for a user; empty: nothing to do.
    pub todo: String,
}

impl Awaited {
    /// Returns both as one text.
    pub fn text(&self) -> String {
        format!("{}. {}", self.what, self.todo).trim_end().to_owned()
    }
}

/// A notice for users, published once for each `key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub key: String,
    pub reason: &'static str,
    pub note: String,
    /// Kind and name of the object in the workload cluster that the notice is about. Events that differ in nothing but their note are
    /// counted as one, and the note of the first stays.
    pub about: (&'static str, String),
}

/// The waits, by Agent.
#[derive(Default)]
pub struct Waits {
    known: Mutex<HashMap<KubeRef, Awaited>>,
    changed: Announced,
}

impl Waits {
    /// The wait of the host of `agent`, as far as its cluster is concerned.
    pub fn get(&self, agent: &KubeRef) -> Option<Awaited> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(agent).cloned()
    }

    /// Sets the wait of the host of `agent`.
    pub fn set(&self, agent: &KubeRef, awaited: Option<Awaited>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match &awaited {
            Some(awaited) => known.insert(agent.clone(), awaited.clone()),
            None => known.remove(agent),
        };
        drop(known);
        if before != awaited {
            self.changed.send(agent);
        }
    }

    /// Agents with a changed wait. For one listener; empty for a second.
    pub fn changes(&self) -> impl Stream<Item = KubeRef> + Send + use<> {
        self.changed.listen()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    #[tokio::test]
    async fn only_changes_are_told_and_to_one_listener() {
        let waits = Waits::default();
        let agent = KubeRef::new("lab", "a");
        let awaited = |what: &str| {
            Some(Awaited {
                what: what.into(),
                todo: String::new(),
            })
        };
        waits.set(&agent, None);
        waits.set(&agent, awaited("x"));
        waits.set(&agent, awaited("x"));
        waits.set(&agent, None);
        let changes: Vec<_> = Box::pin(waits.changes())
            .take(2)
            .collect::<Vec<_>>()
            .now_or_never()
            .unwrap();
        assert_eq!(changes.len(), 2);
        assert_eq!(waits.get(&agent), None);
        assert_eq!(Box::pin(waits.changes()).next().now_or_never(), Some(None));
    }
}
