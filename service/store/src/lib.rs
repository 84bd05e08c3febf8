//! What Muster remembers: InfraEnvs, hosts, their history, events, the outbox and shared settings, in SQLite or
//! PostgreSQL behind the same statements (`sqlx::Any`).
//!
//! One file an aggregate, each adding methods to [`Store`]:
//! [`infra_env`], [`cluster`], [`host`] (with [`check_in`] for polls and [`deadline`] for waits), [`event`], [`outbox`],
//! [`logs`], [`settings`].
//!
//! Rules:
//! - A change commits together with its history, events and outbox row, or not at all.
//! - A write names the version that it was based on ([`StoreError::Conflict`] when another came first): load again, decide
//!   again, write again. Nothing is locked between a read and a write.
//! - Absence is `Ok(None)`. Deleted records are absent, though their rows stay.
//! - Moments are kept to the microsecond.

mod change;
pub mod check_in;
pub mod cluster;
pub mod deadline;
pub mod error;
pub mod event;
pub mod host;
pub mod infra_env;
mod listen;
pub mod logs;
mod notify;
mod open;
pub mod outbox;
mod polled;
mod row;
pub mod settings;
mod store;

pub use check_in::CheckIn;
pub use cluster::{ClusterDeletion, ClusterVersions, StoredCluster};
pub use deadline::{Due, DueAfter};
pub use error::StoreError;
pub use event::{EventPage, EventQuery, Order, StoredEvent};
pub use host::{HistoryEntry, HistoryRecord, HostBrief};
pub use infra_env::Deletion;
pub use logs::{LogOwner, LogUpload, StoredLog};
pub use notify::RecordChange;
pub use outbox::{OutboxEntry, OutboxScope, Subject};
pub use store::{Kind, StatementCounts, Store};

/// What most operations answer.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
