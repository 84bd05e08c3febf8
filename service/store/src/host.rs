//! Hosts: one record for each machine and InfraEnv, with its inventory, its history and its place in a cluster.

mod brief;
mod documents;
mod history;
mod kube;
mod list;
mod membership;
mod read;
mod row;
mod write;

pub use brief::HostBrief;
pub use history::{HistoryEntry, HistoryRecord};
pub use list::{HostForm, ListedHost};
pub(crate) use row::HOST_KEY;
