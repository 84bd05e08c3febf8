//! Finds noteworthy facts about a host in its cluster: unreachable hosts, addresses in use twice, links that are too
//! narrow, slow or lossy, clocks that differ. A finding never blocks a host: the protocol's validations ignore these
//! facts for hosts that are added to a cluster (docs/protocol/host-validations.tsv, column `day2`).
//!
//! Facts are the host's report about its peers, their reports about it ([`Sees`](crate::record::Sees)), and their
//! inventories ([`Peer`](crate::record::Peer)). One subject a file; each gives at most a few findings, however many
//! hosts they name, so that a dead switch does not hide the rest. Messages round measurements and hold no timestamp,
//! except those of waits ([`WAITING`]) and failures ([`FAILED_BEFORE`]), which the layer above adds.

mod address;
mod clock;
mod cluster_context;
mod disk;
mod evaluate;
mod finding;
mod health;
mod image;
mod kinds;
mod mtu;
mod name;
mod network;
mod quality;
mod reach;
mod sees;
mod vlan;

pub use evaluate::{changed, evaluate};
pub use kinds::*;
pub use network::has_problem;
pub use sees::{matters_to_others, peers_matter, sees};
