//! What goes on without anybody asking: one file a job. Each ends when the service stops.

pub mod changes;
pub mod deadlines;
pub mod flush;
pub mod outbox;
pub mod upkeep;
