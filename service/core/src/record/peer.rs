//! A host as the other hosts of its cluster need it.

use std::net::IpAddr;

use muster_api::host::{HostRole, HostStatus};
use muster_api::ids::HostId;
use muster_api::steps::ConnectivityCheckNic;
use serde::{Deserialize, Serialize};

/// The part of a host that its peers need. Kept small: every host of a cluster reads all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    pub id: HostId,
    pub status: HostStatus,
    /// Given or else suggested.
    pub role: HostRole,
    /// Given or else reported; empty when unknown.
    pub hostname: String,
    /// Its network cards with their addresses (without prefix length, IPv4 before IPv6), as `connectivity-check` names them;
    /// empty without an inventory.
    pub nics: Vec<ConnectivityCheckNic>,
    /// Seconds that its clock was ahead of the service's at its last report of the time; `None` when there was none.
    pub clock_offset_secs: Option<i64>,
    /// Its reports about others.
    #[serde(default)]
    pub sees: Sees,
}

impl Peer {
    /// True after its first inventory.
    pub fn has_inventory(&self) -> bool {
        !self.nics.is_empty()
    }

    /// Addresses of its network cards.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let texts = self.nics.iter().flat_map(|nic| &nic.ip_addresses);
        texts.filter_map(|text| text.parse().ok())
    }
}

/// Failures that a host reports about the other hosts of its cluster. Kept small: they are few.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sees {
    /// Hosts that it probed without any response, sorted.
    pub unreached: Vec<HostId>,
    /// Addresses for which it received responses from several machines, sorted.
    pub answered_twice: Vec<String>,
}

impl Sees {
    pub fn is_empty(&self) -> bool {
        self.unreached.is_empty() && self.answered_twice.is_empty()
    }
}
