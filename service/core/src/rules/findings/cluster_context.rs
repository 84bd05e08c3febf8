//! A host among the others of its cluster.

use ipnet::IpNet;
use muster_api::host::{HostRole, HostStatus};
use muster_api::inventory::Inventory;
use muster_api::steps::ConnectivityRemoteHost;

use crate::record::{Host, Peer};
use crate::rules::addresses::networks_of;
use crate::rules::cluster_peers::Peers;
use crate::rules::facts::HostFacts;
use crate::rules::requirements::RoleTable;

/// Names in one message; more are counted.
const NAMED: usize = 5;

/// A host and the others.
pub(super) struct ClusterContext<'a> {
    pub(super) host: &'a Host,
    pub(super) peers: Peers<'a>,
    pub(super) roles: &'a RoleTable,
    /// Of the host, once reported.
    pub(super) clock_offset: Option<i64>,
    facts: HostFacts<'a>,
}

impl<'a> ClusterContext<'a> {
    /// `None` for unbound hosts.
    pub(super) fn of(host: &'a Host, facts: &HostFacts<'a>) -> Option<Self> {
        let cluster = facts.cluster?;
        let version = &cluster.cluster.data.openshift_version;
        Some(Self {
            host,
            peers: cluster.peers,
            roles: facts.requirements.of(version),
            clock_offset: facts.clock_offset(host),
            facts: *facts,
        })
    }

    /// The clock offset of a peer, by the same measure as that of the host.
    pub(super) fn clock_offset_of(&self, peer: &Peer) -> Option<i64> {
        peer.clock_offset_secs.map(|measured| self.facts.offset(measured))
    }

    pub(super) fn role(&self) -> HostRole {
        self.host.data.effective_role()
    }

    fn inventory(&self) -> Option<&'a Inventory> {
        self.host.inventory.as_deref()
    }

    /// Peers with a running agent, which should respond.
    pub(super) fn awake(&self) -> impl Iterator<Item = &'a Peer> {
        self.peers.iter().filter(|peer| is_awake(peer))
    }

    /// The host's reports about peers that should respond. Peers that it did not probe are left out.
    pub(super) fn reported(&self) -> impl Iterator<Item = (&'a Peer, &'a ConnectivityRemoteHost)> {
        let report = self.host.reports.connectivity.as_ref();
        let remotes = report.into_iter().flat_map(|report| &report.remote_hosts);
        remotes.filter_map(|remote| {
            let peer = self.peers.find(&remote.host_id)?;
            is_awake(peer).then_some((peer, remote))
        })
    }

    /// The host's interfaces with their networks.
    pub(super) fn networks(&self) -> Vec<(&'a str, IpNet)> {
        let interfaces = self
            .inventory()
            .into_iter()
            .flat_map(|inventory| &inventory.interfaces);
        interfaces
            .flat_map(|interface| networks_of(interface).map(|net| (interface.name.as_str(), net)))
            .collect()
    }

    /// True for the MAC address of a card of the host itself.
    pub(super) fn is_own_mac(&self, mac: &str) -> bool {
        let mut interfaces = self.inventory().into_iter().flat_map(|all| &all.interfaces);
        interfaces.any(|interface| interface.mac_address.eq_ignore_ascii_case(mac))
    }

    /// MTU of an interface, as the host reports it.
    pub(super) fn mtu(&self, nic: &str) -> Option<i64> {
        let mut interfaces = self.inventory()?.interfaces.iter();
        let found = interfaces.find(|interface| interface.name == nic)?;
        (found.mtu > 0).then_some(found.mtu)
    }
}

/// True while a host's agent runs and responds to others: before that it is not probed, and afterwards other software
/// may run.
pub(super) fn is_awake(peer: &Peer) -> bool {
    match peer.status {
        HostStatus::Known
        | HostStatus::Insufficient
        | HostStatus::PendingForInput
        | HostStatus::PreparingForInstallation
        | HostStatus::PreparingFailed
        | HostStatus::PreparingSuccessful => true,
        HostStatus::Discovering
        | HostStatus::Disconnected
        | HostStatus::Disabled
        | HostStatus::Installing
        | HostStatus::InstallingInProgress
        | HostStatus::InstallingPendingUserAction
        | HostStatus::ResettingPendingUserAction
        | HostStatus::Installed
        | HostStatus::Error
        | HostStatus::Resetting
        | HostStatus::AddedToExistingCluster
        | HostStatus::Cancelled
        | HostStatus::Binding
        | HostStatus::Unbinding
        | HostStatus::UnbindingPendingUserAction
        | HostStatus::KnownUnbound
        | HostStatus::DisconnectedUnbound
        | HostStatus::InsufficientUnbound
        | HostStatus::DisabledUnbound
        | HostStatus::DiscoveringUnbound
        | HostStatus::Reclaiming
        | HostStatus::ReclaimingRebooting => false,
    }
}

/// Hostname of a peer, else its id.
pub(super) fn name(peer: &Peer) -> String {
    if peer.hostname.is_empty() {
        peer.id.to_string()
    } else {
        peer.hostname.clone()
    }
}

/// `a, b and 3 more`.
pub(super) fn list(names: &[String]) -> String {
    if names.len() <= NAMED {
        return names.join(", ");
    }
    format!("{} and {} more", names[..NAMED].join(", "), names.len() - NAMED)
}
