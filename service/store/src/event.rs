//! Events: what happened, for users.

mod follow;
mod insert;
mod list;
mod recent;
mod row;

pub use follow::EventsById;
pub(crate) use insert::{Told, insert, insert_told};
pub use list::{EventCounts, EventPage, EventQuery, Order};
pub(crate) use recent::StoredEvents;
pub use row::StoredEvent;
