//! The facts that the checks of one host read.

use std::cell::OnceCell;

use muster_api::host::{HostRole, HostStage};
use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;

use crate::record::{Cluster, ClusterData, ClusterTraits, Host};
use crate::rules::checks::worker_ignition::WorkerIgnition;
use crate::rules::cluster_peers::Peers;
use crate::rules::facts::HostFacts;
use crate::rules::requirements::{Required, required};

/// A host with the facts around it. Values that several checks need are computed once.
pub struct CheckContext<'a> {
    pub(super) host: &'a Host,
    pub(super) facts: &'a HostFacts<'a>,
    pub(super) now: Timestamp,
    required: OnceCell<Required>,
    ignition: OnceCell<Option<WorkerIgnition>>,
}

impl<'a> CheckContext<'a> {
    pub fn new(host: &'a Host, facts: &'a HostFacts<'a>, now: Timestamp) -> Self {
        Self {
            host,
            facts,
            now,
            required: OnceCell::new(),
            ignition: OnceCell::new(),
        }
    }

    pub(super) fn inventory(&self) -> Option<&'a Inventory> {
        self.host.inventory.as_deref()
    }

    /// The cluster that the host is bound to; `None` hides the checks that concern clusters.
    pub(super) fn bound(&self) -> Option<Bound<'a>> {
        let facts = self.facts.cluster?;
        Some(Bound {
            cluster: facts.cluster,
            peers: facts.peers,
        })
    }

    /// The stage of the installation; `None` before it begins.
    pub(super) fn stage(&self) -> Option<HostStage> {
        self.host.data.progress.as_ref().map(|progress| progress.stage)
    }

    /// The role given, else the one suggested.
    pub(super) fn role(&self) -> HostRole {
        self.host.data.effective_role()
    }

    /// The hardware requirements of this host.
    pub(super) fn required(&self) -> &Required {
        self.required.get_or_init(|| required(self.host, self.facts))
    }

    /// The ignition that the host downloaded from the cluster; `None` until then.
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
    pub(super) peers: Peers<'a>,
}

impl<'a> Bound<'a> {
    pub(super) fn data(&self) -> &'a ClusterData {
        &self.cluster.data
    }

    pub(super) fn traits(&self) -> &'a ClusterTraits {
        &self.cluster.data.traits
    }

    pub(super) fn is_single_node(&self) -> bool {
        self.cluster.is_single_node()
    }

    /// True when the users provide DNS and load balancers.
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
