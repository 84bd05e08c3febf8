//! Events: what happened, for users.

mod insert;
mod list;
mod row;

pub(crate) use insert::insert;
pub use list::{EventPage, EventQuery, Order};
pub use row::StoredEvent;
