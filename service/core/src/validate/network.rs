//! The host's place in its networks.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::inventory::Route;

use super::look::View;
use super::{Verdict, no_inventory};

/// `has-default-route`: of either family, through a real gateway.
pub(super) fn default_route(look: &View<'_>) -> Verdict {
    let Some(inventory) = look.inventory() else {
        return no_inventory();
    };
    if inventory.routes.iter().any(is_default) {
        Verdict::Success("The host has a default route".into())
    } else {
        Verdict::Failure(
            "The host has no default route; let DHCP or the static network configuration give it a gateway"
                .into(),
        )
    }
}

fn is_default(route: &Route) -> bool {
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let everywhere = route.destination.split('/').next().and_then(address);
    everywhere.is_some_and(|ip| ip.is_unspecified())
        && address(&route.gateway).is_some_and(|gateway| !gateway.is_unspecified())
}

/// `no-ip-collisions-in-network`: nobody else answers for an address of the host. Looked for among the hosts of a new cluster; for
/// others see [`crate::findings`].
pub(super) fn no_ip_collisions(look: &View<'_>) -> Verdict {
    let (Some(bound), Some(inventory)) = (look.bound(), look.inventory()) else {
        return Verdict::success("No address of the host is known to be used twice");
    };
    let Some(collisions) = bound.data().day1.as_ref().map(|day1| &day1.ip_collisions) else {
        return Verdict::success("No address of the host is known to be used twice");
    };
    let mut found = Vec::new();
    for interface in inventory.interfaces.iter().filter(|_| !collisions.is_empty()) {
        for text in interface.ipv4_addresses.iter().chain(&interface.ipv6_addresses) {
            let Ok(net) = text.parse::<IpNet>() else {
                return Verdict::Error(format!(
                    "{text} on {} is not an address with prefix length",
                    interface.name
                ));
            };
            let ip = net.addr().to_string();
            if let Some(macs) = collisions.get(&ip) {
                found.push(format!("{ip} (answered by {})", macs.join(" and ")));
            }
        }
    }
    if found.is_empty() {
        Verdict::success("No address of the host is known to be used twice")
    } else {
        Verdict::Failure(format!(
            "Addresses of the host {} are used by another machine, too: {}. Give one of them another address",
            look.host.id,
            found.join(", ")
        ))
    }
}
