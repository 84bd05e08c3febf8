//! Records and lists events.

use muster_api::ids::EventId;
use muster_core::record::NewEvent;
use muster_store::Store;

use crate::now;
use crate::records::{EventCounts, EventQuery, EventsById, StoreError, StoredEvent};

/// The events of the service. Cloning is cheap.
#[derive(Clone)]
pub struct Events {
    store: Store,
}

impl Events {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// Records an event that belongs to no change of a record.
    pub async fn record(&self, event: NewEvent) -> Result<(), StoreError> {
        self.store.insert_events(&[event]).await
    }

    /// The number of events that fit, whatever the query's limit.
    pub async fn count(&self, query: &EventQuery) -> Result<EventCounts, StoreError> {
        self.store.count_events(query).await
    }

    /// The next events that fit, at most `most`; `after`: the last one of the part before.
    pub async fn read(
        &self,
        query: &EventQuery,
        after: Option<&StoredEvent>,
        most: i64,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.store.read_events(query, after, most).await
    }

    /// The events that fit by their ids, at most `most`: those after an id, or the newest with those of the last seconds.
    pub async fn by_id(
        &self,
        query: &EventQuery,
        after: Option<EventId>,
        most: usize,
    ) -> Result<EventsById, StoreError> {
        match after {
            Some(after) => self.store.events_after(query, after, most, now()).await,
            None => self.store.newest_events(query, most, now()).await,
        }
    }

    /// The events that fit before one by time, the newest first, at most `most`.
    pub async fn before(
        &self,
        query: &EventQuery,
        before: EventId,
        most: usize,
    ) -> Result<EventsById, StoreError> {
        self.store.events_before(query, before, most).await
    }
}
