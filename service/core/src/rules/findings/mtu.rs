//! Finds paths that full-sized packets do not pass.

use std::collections::BTreeMap;

use muster_api::host::HostFinding;

use super::cluster_context::{ClusterContext, list, name};
use super::finding::finding;
use super::kinds::MTU_TOO_LARGE;
use crate::record::Peer;
use crate::text::one_line;

/// Longest interface name of Linux, bytes.
const NIC_TEXT: usize = 15;

/// By interface: peers that full-sized packets from it do not reach. Upstream agents report only interfaces whose MTU
/// is not 1500, our agents all: a path may be narrower than both its ends.
pub(super) fn too_large(context: &ClusterContext<'_>) -> Vec<HostFinding> {
    let mut narrow: BTreeMap<String, Vec<&Peer>> = BTreeMap::new();
    for (peer, remote) in context.reported() {
        for entry in remote.mtu_report.iter().filter(|entry| !entry.mtu_successful) {
            let peers = narrow.entry(one_line(&entry.outgoing_nic, NIC_TEXT)).or_default();
            if peers.last().is_none_or(|last| last.id != peer.id) {
                peers.push(peer);
            }
        }
    }
    narrow
        .into_iter()
        .map(|(nic, peers)| {
            let names: Vec<String> = peers.iter().map(|peer| name(peer)).collect();
            let names = list(&names);
            let (size, at_least) = match context.mtu(&nic) {
                Some(mtu) => (format!(" ({mtu} bytes)"), format!("at least {mtu}")),
                None => (String::new(), "as large".into()),
            };
            let message = format!(
                "Full-sized packets{size} from {nic} do not get through to {names}: something on the way takes only smaller ones. Make the MTU of switches, tunnels and the other host {at_least}, or that of {nic} smaller on all hosts"
            );
            finding(MTU_TOO_LARGE, nic, peers.iter().map(|peer| peer.id), message)
        })
        .collect()
}
