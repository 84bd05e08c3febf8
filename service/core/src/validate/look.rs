//! What checks look at.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::ops::Deref;

use ipnet::IpNet;
use muster_api::host::HostRole;
use muster_api::inventory::{Interface, Inventory};
use muster_api::time::Timestamp;

use super::required::{Required, required};
use super::worker_ignition::WorkerIgnition;
use crate::cluster::{Cluster, ClusterData, ClusterTraits};
use crate::host::requirements::RoleTable;
use crate::host::{Host, HostData, HostFacts, Peer};

/// What a check looks at.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The host.
    pub host: &'a Host,
    /// What is known around it.
    pub facts: &'a HostFacts<'a>,
    /// The present moment.
    pub now: Timestamp,
}

/// The same while all checks of a host are made: what several of them need is worked out once.
pub(super) struct View<'a> {
    look: Look<'a>,
    required: OnceCell<Required>,
    ignition: OnceCell<Option<WorkerIgnition>>,
}

impl<'a> Deref for View<'a> {
    type Target = Look<'a>;

    fn deref(&self) -> &Look<'a> {
        &self.look
    }
}

/// Stages from which on nobody expects the host to answer. Source: docs/protocol/host-lifecycle.md#6.
const LATE_STAGES: [&str; 5] = [
    "Rebooting",
    "Waiting for ignition",
    "Configuring",
    "Joined",
    "Done",
];

impl<'a> Look<'a> {
    pub(super) fn inventory(&self) -> Option<&'a Inventory> {
        self.host.inventory.as_ref()
    }

    /// The cluster that the host is bound to; what the protocol hides from hosts of the pool starts here.
    pub(super) fn bound(&self) -> Option<Bound<'a>> {
        let around = self.facts.cluster?;
        Some(Bound {
            cluster: around.cluster,
            peers: around.peers,
        })
    }

    /// Where the installation is; empty before it.
    pub(super) fn stage(&self) -> &'a str {
        self.host
            .data
            .progress
            .as_ref()
            .map_or("", |progress| &progress.stage)
    }

    /// The host is rebooting into what was installed, or further.
    pub(super) fn is_late(&self) -> bool {
        LATE_STAGES.contains(&self.stage())
    }

    /// Given, or else suggested.
    pub(super) fn role(&self) -> HostRole {
        effective_role(&self.host.data)
    }

    /// What is asked of hosts of the version that this one is for.
    pub(super) fn role_table(&self) -> &'a RoleTable {
        let version = match self.bound() {
            Some(bound) => &bound.data().openshift_version,
            None => &self.facts.infra_env.settings.openshift_version,
        };
        self.facts.requirements.of(version)
    }
}

impl<'a> View<'a> {
    pub(super) fn new(look: Look<'a>) -> Self {
        Self {
            look,
            required: OnceCell::new(),
            ignition: OnceCell::new(),
        }
    }

    /// What hardware is asked for.
    pub(super) fn required(&self) -> &Required {
        self.required.get_or_init(|| required(&self.look))
    }

    /// The ignition that the host got from the cluster; `None` until it got one.
    pub(super) fn worker_ignition(&self) -> Option<&WorkerIgnition> {
        self.ignition
            .get_or_init(|| {
                let answer = self.host.data.api_vip_connectivity.as_ref()?;
                answer.is_success.then(|| WorkerIgnition::read(&answer.ignition))
            })
            .as_ref()
    }
}

/// A cluster with the host's peers in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound<'a> {
    cluster: &'a Cluster,
    /// The other hosts.
    pub(super) peers: &'a [Peer],
}

impl<'a> Bound<'a> {
    pub(super) fn data(&self) -> &'a ClusterData {
        &self.cluster.data
    }

    pub(super) fn traits(&self) -> &'a ClusterTraits {
        &self.cluster.data.traits
    }

    pub(super) fn is_single_node(&self) -> bool {
        self.traits().control_plane_count == 1
    }

    /// Its users provide DNS and load balancers.
    pub(super) fn user_managed_networking(&self) -> bool {
        self.traits().user_managed_networking.unwrap_or(false)
    }

    /// Address families of the cluster's own networks: IPv4, IPv6.
    pub(super) fn families(&self) -> (bool, bool) {
        let traits = self.traits();
        let pods = || {
            traits
                .cluster_networks
                .iter()
                .filter_map(|network| network.cidr.as_ref())
        };
        let networks = || traits.service_networks.iter().chain(pods());
        (
            networks().any(|cidr| !cidr.contains(':')),
            networks().any(|cidr| cidr.contains(':')),
        )
    }
}

/// The role that a host plays: given, or else suggested.
pub(crate) fn effective_role(data: &HostData) -> HostRole {
    match data.role {
        HostRole::AutoAssign => data.suggested_role,
        HostRole::Master | HostRole::Arbiter | HostRole::Worker | HostRole::Bootstrap => data.role,
    }
}

/// The addresses of an interface with their networks; those that it does not write as such, and loopback, left out.
pub(crate) fn networks_of(interface: &Interface) -> impl Iterator<Item = IpNet> {
    interface
        .ipv4_addresses
        .iter()
        .chain(&interface.ipv6_addresses)
        .filter_map(|text| text.parse::<IpNet>().ok())
        .filter(|net| is_of_a_network(net.addr()))
}

/// Whether an address is meant for other machines.
pub(crate) fn is_of_a_network(ip: IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || link_local)
}
