//! Stores InfraEnvs, hosts, their history, events, the outbox and shared settings in SQLite or PostgreSQL, with the same
//! statements for both (`sqlx::Any`).
//!
//! [`Store`] is the entry point. Each aggregate is a file that adds methods to it: [`infra_env`], [`cluster`], [`host`], [`event`], [`logs`],
//! [`settings`], [`bmc`] (with claims), [`boot_request`], [`host_job`], [`operator_token`], [`operator_session`]. Their changes leave through `feed`; `liveness` has polls,
//! [`settings`], [`bmc`] (with claims), [`boot_request`], [`operator_token`], [`operator_session`], [`audit`]. Their changes leave through `feed`; `liveness` has polls,
//! deadlines and beats of replicas, `maintenance` what is done to the database as a whole.
//!
//! Rules:
//! - A change commits together with its history, events and outbox row, or not at all.
//! - A write names the version that it was based on. [`StoreError::Conflict`] means that another write came first: load
//!   again, decide again, write again. Nothing is locked between a read and a write.
//! - Absence is `Ok(None)`. Deleted records are absent, though their rows stay.
//! - Timestamps are kept to the microsecond.
//! - Columns of secrets are declared `Sealed`: with a key ([`Vault`]) they are encrypted on their way into the database.

pub mod audit;
pub mod bmc;
pub mod boot_request;
pub mod cluster;
mod deletion;
pub mod error;
pub mod event;
mod feed;
pub mod host;
pub mod host_job;
pub mod infra_env;
mod liveness;
pub mod logs;
mod maintenance;
mod open;
pub mod operator_session;
pub mod operator_token;
mod row;
pub mod settings;
mod statement;
mod store;
mod vault;

pub use audit::{AuditEntry, AuditPart, AuditedObject};
pub use boot_request::{BootRequests, NEW_BOOT};
pub use cluster::{ClusterDeletion, ClusterVersions, StoredCluster};
pub use error::{Result, StoreError};
pub use event::{EventCounts, EventPage, EventQuery, EventsById, Order, StoredEvent};
pub use feed::{OutboxEntry, OutboxScope, RecordChange, Subject};
pub use host::{HistoryEntry, HistoryRecord, HostBrief, HostForm, ListedHost, ListedParts};
pub use host_job::{HostJob, JobMember, JobRequester, MOST_RUNNING_JOBS, MemberResult};
pub use infra_env::Deletion;
pub use liveness::{Beats, CheckIn, Due, DueAfter, Replica};
pub use logs::{LogOwner, LogUpload, StoredLog};
pub use maintenance::{Aging, Resealed, StaleValue};
pub use muster_sql::{Kind, damage};
pub use open::PendingMigration;
pub use operator_session::{OperatorLink, OperatorSession};
pub use operator_token::OperatorToken;
pub use store::{StatementCounts, Store};
pub use vault::{KUBE_RESOURCES, KeyFileError, NoRandomness, Place, SealingFailed, Vault, new_key};
