//! Remembers events that were stored lately, so that further ones of a limited name cost no look into the database.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::NewEvent;

/// Least time between two events, by the configured limits.
pub(super) type Limit = <Timestamp as std::ops::Sub>::Output;

/// Most events that are kept; above it all are dropped, which costs one query for each afterwards.
const MOST: usize = 20_000;

/// The name of an event and the records that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct EventKey(String, Option<HostId>, Option<InfraEnvId>, Option<ClusterId>);

impl EventKey {
    pub(super) fn of(event: &NewEvent) -> Self {
        Self(
            event.name.to_string(),
            event.host_id,
            event.infra_env_id,
            event.cluster_id,
        )
    }
}

/// The times of events that are certainly stored.
#[derive(Default)]
pub(crate) struct StoredEvents(Mutex<HashMap<EventKey, Timestamp>>);

impl StoredEvents {
    fn times(&self) -> MutexGuard<'_, HashMap<EventKey, Timestamp>> {
        self.0.lock().expect("no code panics while it holds the times")
    }

    /// True when such an event was stored less than `least` before.
    pub(super) fn is_too_soon(&self, event: &NewEvent, least: Limit) -> bool {
        let stored = self.times().get(&EventKey::of(event)).copied();
        stored.is_some_and(|at| at > event.at - least && at <= event.at)
    }

    pub(super) fn note(&self, event: &NewEvent, at: Timestamp) {
        let mut times = self.times();
        if times.len() >= MOST {
            times.clear();
        }
        times.insert(EventKey::of(event), at);
    }
}
