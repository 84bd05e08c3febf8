//! Hosts: one record for each machine and InfraEnv, with its inventory, its history and its place in a cluster.

mod batch;
mod brief;
mod change;
mod deleted;
mod document_cache;
mod documents;
mod form;
mod found_row;
mod history;
mod kube;
mod list;
mod listed;
mod listed_parts;
mod membership;
mod queue;
mod read;
mod read_batch;
mod read_queue;
mod row;
mod rows;
mod select;
mod write;

pub use brief::HostBrief;
pub use change::HistoryEntry;
pub(crate) use document_cache::DocumentCache;
pub use form::HostForm;
pub use history::HistoryRecord;
pub use listed::ListedHost;
pub use listed_parts::ListedParts;
pub(crate) use queue::HostQueue;
pub(crate) use read_queue::{HostReads, ReadQueue};
pub(crate) use row::HOST_KEY;
