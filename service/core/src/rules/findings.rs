//! Finds noteworthy facts about a host among the others of its cluster: unreachable hosts, addresses in use twice, links that are
//! too narrow, slow or lossy, clocks that differ. A finding never keeps a host from anything: the protocol's validations ignore
//! these facts for hosts that are added to a cluster (docs/protocol/host-validations.tsv, column `day2`).
//!
//! Facts are the host's own report about others, their reports about it ([`Sees`](crate::record::Sees)), and their inventories
//! ([`Peer`](crate::record::Peer)). One subject a file; each gives at most a few findings, however many hosts they name, so that a
//! dead switch does not bury the rest. Messages round measurements and hold no timestamp, but for those of waits
//! ([`WAITING`]), which the storey above notes.

mod address;
mod clock;
mod cluster_context;
mod disk;
mod evaluate;
mod finding;
mod kinds;
mod mtu;
mod quality;
mod reach;
mod sees;
mod vlan;

pub use evaluate::{changed, evaluate};
pub use kinds::*;
pub use sees::{matters_to_others, peers_matter, sees};
