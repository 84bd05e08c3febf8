//! Finds peers that cannot be reached.

use std::collections::BTreeMap;
use std::net::IpAddr;

use muster_api::host::HostFinding;
use muster_api::steps::ConnectivityRemoteHost;

use super::cluster_context::{ClusterContext, list, name};
use super::finding::finding;
use super::kinds::{ADDRESS_UNREACHABLE, NOT_ON_SEGMENT, ONE_WAY_LINK, PEER_UNREACHABLE, PING_UNANSWERED};
use crate::record::Peer;

/// True if the peer was probed and did not respond in any way.
pub(super) fn is_unreached(remote: &ConnectivityRemoteHost) -> bool {
    let asked = !remote.l3_connectivity.is_empty() || !remote.l2_connectivity.is_empty();
    asked && !is_reached(remote)
}

fn is_reached(remote: &ConnectivityRemoteHost) -> bool {
    remote.l3_connectivity.iter().any(|link| link.successful)
        || remote.l2_connectivity.iter().any(|link| link.successful)
}

/// Peers that do not respond in any way.
pub(super) fn unreachable(context: &ClusterContext<'_>) -> Option<HostFinding> {
    let silent: Vec<&Peer> = context
        .reported()
        .filter(|(_, remote)| is_unreached(remote))
        .map(|(peer, _)| peer)
        .collect();
    about_peers(PEER_UNREACHABLE, "", &silent, |names| {
        format!(
            "Neither pings nor ARP reach {names}. Check cables, VLANs and firewalls between the hosts, and that their networks have routes to each other"
        )
    })
}

/// Peers that are reached and report that they do not reach the host.
pub(super) fn one_way(context: &ClusterContext<'_>) -> Option<HostFinding> {
    let deaf: Vec<&Peer> = context
        .reported()
        .filter(|(peer, remote)| is_reached(remote) && peer.sees.unreached.contains(&context.host.id))
        .map(|(peer, _)| peer)
        .collect();
    about_peers(ONE_WAY_LINK, "", &deaf, |names| {
        format!(
            "This host reaches {names}, which do not reach this host. Look for a firewall or an access list that lets only one direction through, or a route that is missing on one side"
        )
    })
}

/// Findings between addresses of one network, by the host's interface into it.
pub(super) fn by_segment(context: &ClusterContext<'_>) -> Vec<HostFinding> {
    let networks = context.networks();
    let mut odd: BTreeMap<(&str, &str), Vec<&Peer>> = BTreeMap::new();
    for (peer, remote) in context.reported().filter(|(_, remote)| is_reached(remote)) {
        for address in peer.addresses() {
            let Some((nic, _)) = networks.iter().find(|(_, net)| net.contains(&address)) else {
                continue;
            };
            // The host's own addresses cannot be probed.
            if networks.iter().any(|(_, net)| net.addr() == address) {
                continue;
            }
            let Some(kind) = oddity(remote, address) else {
                continue;
            };
            let peers = odd.entry((kind, *nic)).or_default();
            if peers.last().is_none_or(|last| last.id != peer.id) {
                peers.push(peer);
            }
        }
    }
    odd.into_iter()
        .filter_map(|((kind, nic), peers)| about_peers(kind, nic, &peers, |names| message(kind, nic, names)))
        .collect()
}

/// The kind of finding about an address in a network of both hosts; `None` for none, or if the address was not probed.
fn oddity(remote: &ConnectivityRemoteHost, address: IpAddr) -> Option<&'static str> {
    let is_it = |text: &str| text.parse() == Ok(address);
    let mut pings = remote
        .l3_connectivity
        .iter()
        .filter(|link| is_it(&link.remote_ip_address));
    let pinged = pings.clone().next().is_some();
    let answers_pings = pings.any(|link| link.successful);
    let on_segment = remote
        .l2_connectivity
        .iter()
        .any(|link| link.successful && is_it(&link.remote_ip_address));
    match (pinged, answers_pings, on_segment) {
        (false, _, _) | (true, true, true) => None,
        (true, false, false) => Some(ADDRESS_UNREACHABLE),
        (true, false, true) => Some(PING_UNANSWERED),
        (true, true, false) => Some(NOT_ON_SEGMENT),
    }
}

fn message(kind: &str, nic: &str, names: &str) -> String {
    match kind {
        PING_UNANSWERED => format!(
            "{names} answer ARP on {nic} and no pings. Let ICMP echo through the firewalls between the hosts"
        ),
        NOT_ON_SEGMENT => format!(
            "{names} have addresses in the network of {nic} and answer pings, but not ARP on that segment: they are elsewhere, behind a router. Correct the prefix lengths, or the VLAN of {nic}"
        ),
        _ => format!(
            "Addresses of {names} in the network of {nic} do not answer, though the hosts do on others. Check the cables and VLANs of that network"
        ),
    }
}

fn about_peers(
    kind: &str,
    about: &str,
    peers: &[&Peer],
    message: impl Fn(&str) -> String,
) -> Option<HostFinding> {
    if peers.is_empty() {
        return None;
    }
    let names: Vec<String> = peers.iter().map(|peer| name(peer)).collect();
    let others = peers.iter().map(|peer| peer.id);
    Some(finding(kind, about, others, message(&list(&names))))
}
