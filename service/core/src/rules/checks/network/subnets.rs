//! Checks that the networks of one host do not overlap.

use ipnet::IpNet;
use muster_api::inventory::Inventory;

use crate::rules::addresses::is_of_a_network;
use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};

/// `non-overlapping-subnets`: of the families that the cluster's own networks have.
pub(in crate::rules::checks) fn do_not_overlap(context: &CheckContext<'_>) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    let Some(bound) = context.bound() else {
        return Verdict::Hidden;
    };
    let networks = match networks(inventory, bound.families()) {
        Ok(networks) => networks,
        Err(verdict) => return verdict,
    };
    let mut clashes = Vec::new();
    for (index, (nic, network)) in networks.iter().enumerate() {
        for (other_nic, other) in networks.iter().skip(index + 1) {
            if network.contains(other) || other.contains(network) {
                clashes.push(format!("{network} on {nic} and {other} on {other_nic}"));
            }
        }
    }
    if clashes.is_empty() {
        Verdict::success("The host's networks do not overlap")
    } else {
        Verdict::Failure(format!(
            "Networks of the host overlap: {}; put the interfaces into different networks, or join them in a bond",
            clashes.join("; ")
        ))
    }
}

/// Each network of an interface once.
fn networks(inventory: &Inventory, (v4, v6): (bool, bool)) -> Result<Vec<(&str, IpNet)>, Verdict> {
    let mut networks: Vec<(&str, IpNet)> = Vec::new();
    for interface in &inventory.interfaces {
        let of_family = |wanted: bool, list: &'static str| (wanted, list);
        for ((wanted, kind), addresses) in [
            (of_family(v4, "IPv4"), &interface.ipv4_addresses),
            (of_family(v6, "IPv6"), &interface.ipv6_addresses),
        ] {
            for text in addresses.iter().filter(|_| wanted) {
                let net: IpNet = text.parse().map_err(|_| {
                    Verdict::Error(format!(
                        "{text} on {} is not an {kind} address with prefix length",
                        interface.name
                    ))
                })?;
                let entry = (interface.name.as_str(), net.trunc());
                if is_of_a_network(net.addr()) && !networks.contains(&entry) {
                    networks.push(entry);
                }
            }
        }
    }
    Ok(networks)
}
