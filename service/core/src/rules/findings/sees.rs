//! Extracts the part of a host's report that concerns its peers, and compares it.

use muster_api::steps::ConnectivityReport;

use super::address::foreign_answers;
use super::cluster_context::is_awake;
use super::reach::is_unreached;
use crate::record::{Peer, Sees};
use crate::rules::cluster_peers::Peers;

/// Smaller changes of a clock are ignored, seconds: clocks that report whole seconds jitter.
const CLOCK_NEWS_SECS: u64 = 10;

/// The part of a host's report that concerns its `peers`.
pub fn sees(report: &ConnectivityReport, peers: Peers<'_>) -> Sees {
    let of_peers = || {
        let remotes = report.remote_hosts.iter();
        remotes.filter_map(|remote| Some((peers.find(&remote.host_id)?, remote)))
    };
    let mut unreached: Vec<_> = of_peers()
        .filter(|(_, remote)| is_unreached(remote))
        .map(|(peer, _)| peer.id)
        .collect();
    unreached.sort_unstable();
    unreached.dedup();
    let mut answered_twice: Vec<String> = of_peers()
        .flat_map(|(_, remote)| foreign_answers(remote))
        .map(|(address, _)| address.to_string())
        .collect();
    answered_twice.sort_unstable();
    answered_twice.dedup();
    Sees {
        unreached,
        answered_twice,
    }
}

/// True if checks or findings of the other hosts of a cluster can change because one host is now `new` and was `old` at
/// their last evaluation; `None`: it is not in the cluster. Otherwise they need no evaluation.
pub fn matters_to_others(old: Option<&Peer>, new: Option<&Peer>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return old.is_some() != new.is_some();
    };
    let clock_moved = match (old.clock_offset_secs, new.clock_offset_secs) {
        (Some(was), Some(is)) => was.abs_diff(is) > CLOCK_NEWS_SECS,
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    };
    clock_moved
        || is_awake(old) != is_awake(new)
        || (old.id, old.role, &old.hostname, &old.nics, &old.sees)
            != (new.id, new.role, &new.hostname, &new.nics, &new.sees)
}

/// The same for whole lists, both sorted by id.
pub fn peers_matter(old: &[Peer], new: &[Peer]) -> bool {
    old.len() != new.len()
        || old
            .iter()
            .zip(new)
            .any(|(old, new)| matters_to_others(Some(old), Some(new)))
}
