//! The state of a host at the request to install.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A host as it was approved for its cluster: its node gets certificates for this name and these addresses, whatever
/// the host reports afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstalledAs {
    pub hostname: String,
    /// Addresses that other machines can reach.
    pub addresses: Vec<IpAddr>,
    /// The first other name that it has reported since; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub calls_itself: String,
}
