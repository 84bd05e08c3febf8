//! Stores InfraEnvs, hosts, their history, events, the outbox and shared settings in SQLite or PostgreSQL, with the same
//! statements for both (`sqlx::Any`).
//!
//! [`Store`] is the entry point. Each aggregate is a file that adds methods to it: [`infra_env`], [`cluster`], [`host`] (with
//! [`check_in`] for polls and [`deadline`] for waits), [`event`], [`logs`], [`settings`], [`replica`],
//! [`retention`], [`bmc`] (with claims). Changes of all of them go through `feed`.
//!
//! Rules:
//! - A change commits together with its history, events and outbox row, or not at all.
//! - A write names the version that it was based on. [`StoreError::Conflict`] means that another write came first: load
//!   again, decide again, write again. Nothing is locked between a read and a write.
//! - Absence is `Ok(None)`. Deleted records are absent, though their rows stay.
//! - Timestamps are kept to the microsecond.
//! - Columns of secrets are declared `Sealed`: with a key ([`Vault`]) they are encrypted on their way into the database.

pub mod bmc;
pub mod boot_request;
pub mod check_in;
pub mod cluster;
mod copy;
pub mod deadline;
mod deletion;
pub mod error;
pub mod event;
mod feed;
pub mod host;
pub mod infra_env;
mod keys_in_use;
pub mod logs;
mod open;
pub mod operator_token;
mod polled;
pub mod replica;
mod reseal;
pub mod retention;
mod row;
pub mod settings;
mod statement;
mod store;
mod vault;

pub use boot_request::{BootRequests, NEW_BOOT};
pub use check_in::CheckIn;
pub use cluster::{ClusterDeletion, ClusterVersions, StoredCluster};
pub use deadline::{Due, DueAfter};
pub use error::{Result, StoreError};
pub use event::{EventCounts, EventPage, EventQuery, Order, StoredEvent};
pub use feed::{OutboxEntry, OutboxScope, RecordChange, Subject};
pub use host::{HistoryEntry, HistoryRecord, HostBrief, HostForm, ListedHost, ListedParts};
pub use infra_env::Deletion;
pub use logs::{LogOwner, LogUpload, StoredLog};
pub use muster_sql::{Kind, damage};
pub use open::PendingMigration;
pub use operator_token::OperatorToken;
pub use replica::{Beats, Replica};
pub use reseal::{Resealed, StaleValue};
pub use retention::Aging;
pub use store::{StatementCounts, Store};
pub use vault::{KUBE_RESOURCES, KeyFileError, NoRandomness, Place, SealingFailed, Vault, new_key};
