//! The change feed: what is written with every change of a record, and how it is passed on, by the outbox, to subscribers in this process,
//! and between replicas.

mod change;
mod listen;
mod notify;
mod outbox;
mod subject;

pub(crate) use change::{Change, announce, commit_change, note_change, note_changes, write_change};
pub use notify::RecordChange;
pub(crate) use notify::{PendingChanges, Subscribers};
pub use outbox::{OutboxEntry, OutboxScope};
pub use subject::Subject;
