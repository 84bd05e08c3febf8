//! What a host finds out about its surroundings: who answers on its links, how far its packets get, what names mean,
//! whether it is handed its ignition. Sockets of our own; no program is run.
//! Source of every rule: docs/protocol/agent-protocol.md#6 and §7.
//!
//! Every check is a future that holds its sockets: dropping it ends it.

pub mod addresses;
pub mod api_vip;
pub mod arp;
pub mod connectivity;
pub mod domains;
pub mod echo;
pub mod icmp_socket;
pub mod mac;
pub mod ndp;
pub mod neighbours;
pub mod nics;
pub mod packet_socket;
mod sockets;
pub mod vips;

/// Why a check could not be made at all. What a check finds is never an error.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A socket that the check needs.
    #[error("{what}: {source}{advice}", advice = advice(source))]
    Socket {
        /// What was attempted.
        what: String,
        /// The kernel's words.
        source: std::io::Error,
    },
    /// The request makes no sense.
    #[error("{0}")]
    Request(String),
}

impl CheckError {
    fn socket(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        |source| Self::Socket {
            what: what.into(),
            source,
        }
    }
}

fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => " (the agent must run as root, or with CAP_NET_RAW)",
        _ => "",
    }
}
