//! Hosts: one record for each machine and InfraEnv, with its inventory, its history and its place in a cluster.

mod brief;
mod change;
mod document_cache;
mod form;
mod found_row;
mod history;
mod polled;
mod read;
mod row;
mod summaries;
mod write;

pub use brief::HostBrief;
pub use change::HistoryEntry;
pub(crate) use change::HostKey;
pub(crate) use document_cache::DocumentCache;
pub use form::HostForm;
pub use history::HistoryRecord;
pub(crate) use polled::Polled;
pub(crate) use read::{HostReads, ReadQueue};
pub use read::{ListedHost, ListedParts};
pub(crate) use row::HOST_KEY;
pub(crate) use write::HostQueue;
