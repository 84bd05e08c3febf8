//! Checks a host's network: which machines reply on its links, how far its packets get, how names resolve, whether it
//! can download its ignition. Uses sockets directly and runs no program. Source of every rule:
//! docs/protocol/agent-protocol.md#6 and #7.
//!
//! Every check is a future that holds its sockets: dropping it ends the check.

pub mod api_vip;
pub mod arp;
pub mod connectivity;
pub mod domains;
pub mod echo;
mod error;
pub mod icmp_socket;
pub mod ndp;
pub mod neighbours;
pub mod nics;

pub use error::CheckError;
