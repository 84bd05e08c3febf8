//! Compares addresses, routes and name servers.

use std::net::IpAddr;

use super::{Found, Present, list};
use crate::inventory::netlink::Route as PresentRoute;
use crate::net::configuration::{Configuration, Route};
use crate::net::links::{Address, Link};

/// The kernel's metric of an IPv6 route that is set without one.
const METRIC_OF_NONE: u32 = 1024;

pub(super) fn compare(
    found: &mut Found<'_>,
    configuration: &Configuration,
    link: &Link,
    present: &Present<'_>,
) {
    let own: Vec<&Address> = present
        .addresses
        .iter()
        .filter(|one| one.index == link.index)
        .collect();
    for &(ip, prefix) in &configuration.addresses {
        let text = match own.iter().find(|one| one.address == ip) {
            None => format!("the address {ip}/{prefix} is configured, and is not set"),
            Some(there) if there.prefix != prefix => {
                format!(
                    "the address {ip}/{} is set, and {ip}/{prefix} is configured",
                    there.prefix
                )
            }
            Some(there) if !there.usable => {
                format!("the address {ip}/{prefix} is configured, and another machine has it")
            }
            Some(_) => continue,
        };
        found.add(text, "");
    }
    for wanted in lost_routes(configuration, link, present.routes) {
        let (network, prefix) = wanted.destination;
        let on = |one: &&PresentRoute| {
            one.link == Some(link.index) && (one.destination, one.prefix) == wanted.destination
        };
        let there = present.routes.iter().find(on);
        let there = there.map(|one| route_text(one.gateway, Some(one.metric)));
        found.add(
            format!(
                "the route to {network}/{prefix} is {}, and {} is configured",
                there.as_deref().unwrap_or("missing"),
                route_text(wanted.gateway, wanted.metric)
            ),
            "",
        );
    }
    for server in &configuration.name_servers {
        if !present.name_servers.contains(server) {
            let there = list(
                &present
                    .name_servers
                    .iter()
                    .map(IpAddr::to_string)
                    .collect::<Vec<_>>(),
            );
            found.add(
                format!("the name server {server} is configured, and not in use; in use are: {there}"),
                "",
            );
        }
    }
}

/// The routes of a configuration that the kernel does not have on the link.
pub(in crate::net::manager) fn lost_routes<'a>(
    configuration: &'a Configuration,
    link: &Link,
    present: &[PresentRoute],
) -> Vec<&'a Route> {
    let is_there = |wanted: &Route| {
        let metric = match (wanted.metric.unwrap_or_default(), wanted.destination.0) {
            (0, IpAddr::V6(_)) => METRIC_OF_NONE,
            (metric, _) => metric,
        };
        present.iter().any(|one| {
            one.link == Some(link.index)
                && (one.destination, one.prefix) == wanted.destination
                && one.gateway == wanted.gateway
                && one.metric == metric
        })
    };
    configuration
        .routes
        .iter()
        .filter(|route| !is_there(route))
        .collect()
}

fn route_text(gateway: Option<IpAddr>, metric: Option<u32>) -> String {
    let by = match gateway {
        None => "on the link".to_owned(),
        Some(gateway) => format!("by {gateway}"),
    };
    match metric {
        Some(metric) => format!("{by} with metric {metric}"),
        None => by,
    }
}
