//! Lists the routes of the main table. Source of the rules: docs/protocol/agent-inventory.md#9.

use std::net::IpAddr;

use muster_api::inventory;

use super::interfaces::Network;

/// The kernel's constants for the families, as the protocol sends them.
const AF_INET: i32 = 2;
const AF_INET6: i32 = 10;

/// IPv4 first, each family in the kernel's order. Routes of links without a name are left out.
pub(super) fn routes(network: &Network) -> Vec<inventory::Route> {
    let (v4, v6): (Vec<_>, Vec<_>) = network
        .routes
        .iter()
        .partition(|route| route.destination.is_ipv4());
    v4.into_iter()
        .chain(v6)
        .filter_map(|route| {
            let link = network.links.iter().find(|link| Some(link.index) == route.link)?;
            Some(inventory::Route {
                destination: route.destination.to_string(),
                family: match route.destination {
                    IpAddr::V4(_) => AF_INET,
                    IpAddr::V6(_) => AF_INET6,
                },
                gateway: route
                    .gateway
                    .map(|gateway| gateway.to_string())
                    .unwrap_or_default(),
                interface: link.name.clone(),
                metric: i32::try_from(route.metric).unwrap_or(i32::MAX),
            })
        })
        .collect()
}
