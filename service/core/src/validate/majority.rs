//! Whether the hosts of a new cluster reach each other. Which hosts do is worked out for the whole cluster (docs/protocol/host-lifecycle.md#13).

use super::Verdict;
use super::look::{Bound, View};
use crate::cluster::day1::ConnectivityGroups;
use crate::host::Host;

/// Fewer hosts than this form no majority.
const LEAST_HOSTS: usize = 3;

/// `belongs-to-majority-group`.
pub(super) fn belongs(look: &View<'_>) -> Verdict {
    let Some(bound) = look.bound() else {
        return Verdict::Hidden;
    };
    if bound.is_day2() {
        return Verdict::success("The cluster exists, so its new hosts need not all reach each other");
    }
    if bound.is_single_node() {
        return Verdict::success("A single node needs to reach no other");
    }
    let groups = bound
        .data()
        .day1
        .as_ref()
        .and_then(|day1| day1.connectivity.as_ref());
    let Some(groups) = groups else {
        return Verdict::Pending("Waits until the hosts of the cluster have told whom they reach".into());
    };
    let routed = bound.user_managed_networking() || bound.user_managed_load_balancer();
    if !routed && bound.data().machine_networks.is_empty() {
        return Verdict::Pending("Waits for the machine network of the cluster".into());
    }
    let connected = if routed {
        Ok(reached_by_all(look.host, groups, &bound))
    } else {
        in_every_group(look.host, groups, &bound)
    };
    match connected {
        Err(verdict) => verdict,
        Ok(true) => Verdict::success("The host and the majority of the cluster's hosts reach each other"),
        Ok(false) if bound.peers.len() + 1 < LEAST_HOSTS => {
            Verdict::Pending(format!("Waits until the cluster has {LEAST_HOSTS} hosts"))
        }
        Ok(false) => Verdict::Failure(
            "The host and the majority of the cluster's hosts do not reach each other; check its cabling, VLAN and firewalls between them".into(),
        ),
    }
}

fn in_every_group(host: &Host, groups: &ConnectivityGroups, bound: &Bound<'_>) -> Result<bool, Verdict> {
    let networks = bound.machine_networks()?;
    Ok(networks.iter().all(|network| {
        groups
            .majority_groups
            .get(&network.to_string())
            .is_some_and(|group| group.contains(&host.id))
    }))
}

fn reached_by_all(host: &Host, groups: &ConnectivityGroups, bound: &Bound<'_>) -> bool {
    let reached = groups.l3_connected_addresses.get(&host.id);
    let any = |is_v6: bool| {
        reached
            .into_iter()
            .flatten()
            .any(|address| address.contains(':') == is_v6)
    };
    let (v4, v6) = bound.families();
    (!v4 || any(false)) && (!v6 || any(true))
}
