//! Finds addresses that two machines use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use muster_api::host::HostFinding;
use muster_api::ids::HostId;
use muster_api::steps::ConnectivityRemoteHost;

use super::cluster_context::{ClusterContext, list, name};
use super::finding::finding;
use super::kinds::DUPLICATE_ADDRESS;
use crate::rules::addresses::is_of_a_network;
use crate::text::one_line;

/// Longest MAC address in a message; InfiniBand's has 20 bytes.
const MAC_TEXT: usize = 59;

/// Evidence about one address.
#[derive(Default)]
struct Doubt {
    /// The host itself has it.
    is_own: bool,
    /// Peers that have it, or responded for it.
    holders: BTreeSet<HostId>,
    /// Peers that received several responses for it.
    witnesses: BTreeSet<HostId>,
    /// Machines that responded for it and are no host of the cluster.
    strangers: BTreeSet<String>,
}

impl Doubt {
    /// Records the response of a machine with that MAC address.
    fn answered(&mut self, context: &ClusterContext<'_>, mac: &str) {
        match context.peers.with_mac(mac).next() {
            Some(peer) => {
                self.holders.insert(peer.id);
            }
            None => {
                self.strangers.insert(one_line(mac, MAC_TEXT));
            }
        }
    }
}

/// Addresses that two machines use, as far as the host can know: its own that a peer has, too; peers' addresses for
/// which another machine responded to the host; its own for which another machine responded to a peer, or to the host
/// itself (our agents probe them).
pub(super) fn duplicates(context: &ClusterContext<'_>) -> Vec<HostFinding> {
    let own: BTreeSet<IpAddr> = context
        .networks()
        .into_iter()
        .map(|(_, net)| net.addr())
        .collect();
    let mut doubts: BTreeMap<IpAddr, Doubt> = BTreeMap::new();
    for address in &own {
        for peer in context.peers.with_address(*address) {
            doubts.entry(*address).or_default().holders.insert(peer.id);
        }
        for peer in context.peers.answered_twice_for(*address) {
            doubts.entry(*address).or_default().witnesses.insert(peer.id);
        }
    }
    for (_, remote) in context.reported() {
        for (address, mac) in foreign_answers(remote).filter(|(_, mac)| !context.is_own_mac(mac)) {
            let doubt = doubts.entry(address).or_default();
            let holders = context.peers.with_address(address).map(|peer| peer.id);
            doubt.holders.extend(holders);
            doubt.answered(context, mac);
        }
    }
    let report = context.host.reports.connectivity.as_ref();
    for conflict in report.into_iter().flat_map(|report| &report.address_conflicts) {
        // Two cards of the host in one segment: agents up to 2026-11 report each other's responses.
        if context.is_own_mac(&conflict.remote_mac) {
            continue;
        }
        if let Ok(address) = conflict.ip_address.parse()
            && own.contains(&address)
        {
            doubts
                .entry(address)
                .or_default()
                .answered(context, &conflict.remote_mac);
        }
    }
    for (address, doubt) in &mut doubts {
        doubt.is_own = own.contains(address);
    }
    doubts
        .iter()
        .filter(|(address, _)| is_of_a_network(**address))
        .map(|(address, doubt)| describe(context, *address, doubt))
        .collect()
}

/// Responses for an address of a peer from a machine that is not that peer. Responses of several cards of one peer are
/// no conflict.
pub(super) fn foreign_answers(remote: &ConnectivityRemoteHost) -> impl Iterator<Item = (IpAddr, &str)> {
    remote
        .l2_connectivity
        .iter()
        .filter(|link| !link.successful && !link.remote_mac.is_empty())
        .filter_map(|link| Some((link.remote_ip_address.parse().ok()?, link.remote_mac.as_str())))
}

fn describe(context: &ClusterContext<'_>, address: IpAddr, doubt: &Doubt) -> HostFinding {
    let names = |ids: &BTreeSet<HostId>| {
        let named = ids.iter().filter_map(|id| context.peers.get(*id));
        list(&named.map(name).collect::<Vec<_>>())
    };
    let what_to_do =
        "Give one of them another address: by DHCP reservation, or in the static network configuration";
    let strangers: Vec<String> = doubt.strangers.iter().cloned().collect();
    let message = match (doubt.is_own, doubt.holders.is_empty(), strangers.is_empty()) {
        (true, false, _) => format!(
            "{address} is the address of this host and of {}. {what_to_do}",
            names(&doubt.holders)
        ),
        (true, true, false) => format!(
            "{address} is the address of this host and of a machine outside of this cluster: {}. {what_to_do}",
            list(&strangers)
        ),
        (true, true, true) => format!(
            "{address}, an address of this host, is answered for by another machine, too: {} saw it. {what_to_do}",
            names(&doubt.witnesses)
        ),
        (false, _, true) => format!(
            "Several hosts answer for {address}: {}. {what_to_do}",
            names(&doubt.holders)
        ),
        (false, _, false) => format!(
            "For {address}, an address of {}, a machine outside of this cluster answers, too: {}. {what_to_do}",
            names(&doubt.holders),
            list(&strangers)
        ),
    };
    let others = if doubt.holders.is_empty() {
        &doubt.witnesses
    } else {
        &doubt.holders
    };
    finding(
        DUPLICATE_ADDRESS,
        address.to_string(),
        others.iter().copied(),
        message,
    )
}
