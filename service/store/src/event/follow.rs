//! Lists events by their ids: in their order, for clients that follow them, and backwards by time.
//!
//! An id is made before its event is committed, so an event may appear after others with greater ids: on PostgreSQL by another transaction
//! or replica. A list that went on after its last event would miss it. So a list that has reached the present goes on [`SETTLING`] before,
//! and its client drops the events that it has received. Not chosen: to hold events back until none can appear before them, which would
//! delay each of them by the longest transaction; numbers by the order of commits, which PostgreSQL does not have.

use std::collections::HashSet;
use std::time::Duration;

use muster_api::ids::EventId;
use muster_api::time::Timestamp;
use uuid::Builder;

use super::list::{EventQuery, Filter, Order};
use super::row::{EventRow, StoredEvent, event_from};
use crate::Result;
use crate::row::{Reading, readable};
use crate::store::Store;

/// Longest time from an id to the commit of its event, and longest difference between the clocks of replicas. A transaction that has written
/// its events waits for nothing but rows of the outbox, and fails after 10 s (`lock_timeout`).
const SETTLING: Duration = Duration::from_secs(10);

/// Most events of the last seconds in one part.
const MOST_RECENT: usize = 1000;

/// A part of the selected events, in the order of their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsById {
    pub events: Vec<StoredEvent>,
    /// The id after which the next part begins. Some of its events are of this part, too, unless there are more.
    pub next: EventId,
    /// False at the present end.
    pub more: bool,
}

impl Store {
    /// The selected events with greater ids than `after`, at most `most`. The query's order, limit and offset have no effect. `now`: by the
    /// clock that ids are made with.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn events_after(
        &self,
        query: &EventQuery,
        after: EventId,
        most: usize,
        now: Timestamp,
    ) -> Result<EventsById> {
        let mut filter = Filter::within_ids(query)?;
        let id = filter.add(after.to_string())?;
        filter.and(&format!("id > {id}"));
        let limit = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
        let mut rows = self.event_rows(filter, "id", limit, 0).await?;
        let more = rows.len() > most;
        rows.truncate(most);
        let next = match rows.last() {
            Some(last) if more => Reading::new(last, EventRow::TABLE, EventRow::KEY).get("id")?,
            _ => settled(now),
        };
        Ok(EventsById {
            events: readable(&rows, event_from),
            next,
            more,
        })
    }

    /// The `most` newest of the selected events by time, and with them all of the last seconds, which the next part may have again: a client
    /// that knows them receives no event later that was there already. Otherwise as [`Store::events_after`].
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn newest_events(&self, query: &EventQuery, most: usize, now: Timestamp) -> Result<EventsById> {
        let mut found = self.events_after(query, settled(now), MOST_RECENT, now).await?;
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let newest = EventQuery {
            order: Order::Descending,
            limit,
            offset: 0,
            ..query.clone()
        };
        let ids: HashSet<EventId> = found.events.iter().map(|event| event.id).collect();
        let newest = self.read_events(&newest, None, limit).await?;
        found
            .events
            .extend(newest.into_iter().filter(|event| !ids.contains(&event.id)));
        found.events.sort_by_key(|event| event.id);
        Ok(found)
    }

    /// The selected events before the one with this id by time, the newest first, at most `most`. `next`: the id before which the next part
    /// begins. An id that is no event's (any more) stands for the time that it begins with. The query's order, limit and offset have no effect.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn events_before(
        &self,
        query: &EventQuery,
        before: EventId,
        most: usize,
    ) -> Result<EventsById> {
        let limit = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
        let newest = EventQuery {
            order: Order::Descending,
            limit,
            offset: 0,
            ..query.clone()
        };
        let place = (self.event_time(before).await?, before);
        let mut rows = self.rows_beyond(&newest, Some(place), limit).await?;
        let more = rows.len() > most;
        rows.truncate(most);
        let next = match rows.last() {
            Some(last) => Reading::new(last, EventRow::TABLE, EventRow::KEY).get("id")?,
            None => before,
        };
        Ok(EventsById {
            events: readable(&rows, event_from),
            next,
            more,
        })
    }

    /// The time of an event; of an id that is none's, the time that it begins with.
    async fn event_time(&self, id: EventId) -> Result<Timestamp> {
        let mut filter = Filter::everything();
        let place = filter.add(id.to_string())?;
        filter.and(&format!("id = {place}"));
        let rows = self.event_rows(filter, "id", 1, 0).await?;
        let found = rows.first().and_then(|row| event_from(row).ok());
        Ok(found.map_or_else(|| made_at(id), |event| event.at))
    }
}

/// The time that an id of version 7 begins with.
fn made_at(id: EventId) -> Timestamp {
    let millis = i64::try_from(id.0.as_u128() >> 80).unwrap_or(i64::MAX);
    Timestamp::from_timestamp_millis(millis).unwrap_or(Timestamp::MAX_UTC)
}

/// The id before which no event appears any more: the least of its time.
fn settled(now: Timestamp) -> EventId {
    let millis = u64::try_from((now - SETTLING).timestamp_millis()).unwrap_or_default();
    EventId(Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid())
}
