//! Whether full-sized packets get through.

use std::net::IpAddr;

use ipnet::IpNet;

use super::look::{View, networks_of};
use super::{Verdict, no_inventory};

/// `mtu-valid`: informs only, and only about the hosts of a new cluster; for others see [`crate::findings`].
pub(super) fn valid(look: &View<'_>) -> Verdict {
    let Some(bound) = look.bound() else {
        return Verdict::Hidden;
    };
    if bound.is_single_node() {
        return Verdict::Hidden;
    }
    if bound.is_day2() {
        return Verdict::success(
            "The cluster exists; links that are too narrow are among the host's findings",
        );
    }
    let Some(inventory) = look.inventory() else {
        return no_inventory();
    };
    let Some(report) = &look.host.reports.connectivity else {
        return Verdict::Pending("Waits until the host has told whom it reaches".into());
    };
    let networks = match bound.machine_networks() {
        Ok(networks) => networks,
        Err(verdict) => return verdict,
    };
    let is_inside = |ip: IpAddr| networks.iter().any(|network: &IpNet| network.contains(&ip));
    let nic_is_inside = |name: &str| {
        inventory
            .interfaces
            .iter()
            .filter(|interface| interface.name == name)
            .flat_map(networks_of)
            .any(|net| is_inside(net.addr()))
    };
    let everywhere = bound.user_managed_networking();
    let broken = report
        .remote_hosts
        .iter()
        .flat_map(|remote| &remote.mtu_report)
        .filter(|entry| {
            everywhere
                || (nic_is_inside(&entry.outgoing_nic)
                    && entry.remote_ip_address.parse().is_ok_and(is_inside))
        })
        .find(|entry| !entry.mtu_successful);
    match broken {
        None => Verdict::success("Full-sized packets get through to all hosts"),
        Some(entry) => Verdict::Failure(format!(
            "Full-sized packets from {} do not get through to {}; set the same MTU on all interfaces and switches between them",
            entry.outgoing_nic, entry.remote_ip_address
        )),
    }
}
