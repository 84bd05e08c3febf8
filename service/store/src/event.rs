//! Events: what happened, for users.

mod insert;
mod list;
mod recent;
mod row;

pub(crate) use insert::insert;
pub(crate) use recent::StoredEvents;
pub use list::{EventPage, EventQuery, Order};
pub use row::StoredEvent;
