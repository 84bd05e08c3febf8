//! The networks of a cluster's machines. They are asked for only where a cluster is made (day-1).

use ipnet::IpNet;

use super::look::{Bound, View, networks_of};
use super::{Verdict, no_inventory};

/// `machine-cidr-defined`: users have said which, or nobody needs to know.
pub(super) fn defined(look: &View<'_>) -> Verdict {
    let Some(bound) = look.bound() else {
        return Verdict::Hidden;
    };
    if bound.is_day2() {
        Verdict::success("The cluster exists, so its machine network need not be told")
    } else if bound.user_managed_networking() {
        Verdict::success("With user-managed networking no machine network is needed")
    } else if !bound.data().machine_networks.is_empty() {
        Verdict::Success(format!(
            "The machine networks are {}",
            bound.data().machine_networks.join(", ")
        ))
    } else if bound.traits().vip_dhcp_allocation == Some(true) {
        Verdict::Failure(
            "The machine network is not known; set it, so that addresses can be leased in it".into(),
        )
    } else {
        Verdict::Failure(
            "The machine network is not known; set it, or the API address, which tells it".into(),
        )
    }
}

/// `belongs-to-machine-cidr`: the host has an address in every machine network; in one is enough behind a load balancer of
/// the users.
pub(super) fn belongs(look: &View<'_>) -> Verdict {
    let Some(bound) = look.bound() else {
        return Verdict::Hidden;
    };
    if bound.is_day2() {
        return Verdict::success("The cluster exists, so hosts may join it from any network");
    }
    let has_networks = !bound.data().machine_networks.is_empty();
    let is_bootstrap = look.host.data.bootstrap && has_networks;
    if bound.user_managed_networking() && !bound.is_single_node() && !is_bootstrap {
        return Verdict::success("With user-managed networking hosts may be in any network");
    }
    let Some(inventory) = look.inventory() else {
        return no_inventory();
    };
    if !has_networks {
        return Verdict::Pending("Waits for the machine network of the cluster".into());
    }
    let networks = match bound.machine_networks() {
        Ok(networks) => networks,
        Err(verdict) => return verdict,
    };
    let own: Vec<IpNet> = inventory.interfaces.iter().flat_map(networks_of).collect();
    let is_in = |network: &IpNet| own.iter().any(|net| network.contains(&net.addr()));
    let missing: Vec<String> = networks
        .iter()
        .filter(|network| !is_in(network))
        .map(ToString::to_string)
        .collect();
    let enough = if bound.user_managed_load_balancer() {
        missing.len() < networks.len()
    } else {
        missing.is_empty()
    };
    if enough {
        Verdict::success("The host has an address in the cluster's machine networks")
    } else {
        Verdict::Failure(format!(
            "The host has no address in {}: {}; give it one there, or correct the machine networks",
            missing.join(", "),
            which(&bound)
        ))
    }
}

fn which(bound: &Bound<'_>) -> &'static str {
    if bound.user_managed_load_balancer() {
        "one in any machine network is needed"
    } else {
        "one in each machine network is needed"
    }
}
