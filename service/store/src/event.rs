//! Events: what happened, for users.

mod insert;
mod list;
mod recent;
mod row;

pub(crate) use insert::insert;
pub use list::{EventCounts, EventPage, EventQuery, Order};
pub(crate) use recent::StoredEvents;
pub use row::StoredEvent;
