//! What a host finds out about its surroundings: who answers on its links, how far its packets get, what names mean,
//! whether it is handed its ignition. Sockets of our own; no program is run.
//! Source of every rule: docs/protocol/agent-protocol.md#6 and §7.
//!
//! Every check is a future that holds its sockets: dropping it ends it.

pub mod api_vip;
pub mod arp;
pub mod connectivity;
pub mod domains;
pub mod echo;
mod error;
pub mod icmp_socket;
pub mod mac;
pub mod ndp;
pub mod neighbours;
pub mod nics;
pub mod packet_socket;
mod sockets;

pub use error::CheckError;
