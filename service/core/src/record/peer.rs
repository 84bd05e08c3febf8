//! A host of a cluster as its peers know it.

use muster_api::host::{HostRole, HostStatus};
use muster_api::ids::HostId;
use muster_api::steps::ConnectivityCheckNic;
use serde::{Deserialize, Serialize};

/// What one host of a cluster needs to know of another. Kept small: every host of a cluster sees all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its id.
    pub id: HostId,
    /// Where it stands.
    pub status: HostStatus,
    /// Given or else suggested.
    pub role: HostRole,
    /// Given or else reported; empty when unknown.
    pub hostname: String,
    /// Its network cards with their addresses (without prefix length, IPv4 before IPv6), as `connectivity-check` names them;
    /// empty without an inventory.
    pub nics: Vec<ConnectivityCheckNic>,
    /// Seconds that its clock was ahead of the service's when it last told; `None` when it never did.
    pub clock_offset_secs: Option<i64>,
    /// What it reports of others.
    #[serde(default)]
    pub sees: Sees,
}

impl Peer {
    /// It has told what it is made of.
    pub fn has_inventory(&self) -> bool {
        !self.nics.is_empty()
    }
}

/// What a host reports of the others of its cluster, as far as they ask. Kept small: failures, which are few.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sees {
    /// Hosts that it asked and that did not answer in any way, sorted.
    pub unreached: Vec<HostId>,
    /// Addresses for which several machines answered it, sorted.
    pub answered_twice: Vec<String>,
}

impl Sees {
    /// Nothing that others need to know.
    pub fn is_empty(&self) -> bool {
        self.unreached.is_empty() && self.answered_twice.is_empty()
    }
}
