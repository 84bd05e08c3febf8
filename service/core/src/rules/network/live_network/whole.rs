//! Checks that a document is complete: everything it names exists, and each next hop can be reached.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::live::network::{Address, Addressing, Card, Interface, Kind, Route, StaticNetwork};

use crate::rules::input::is_predictable;

/// Every card, and every part of a device that is no interface of the document, is in `mac_interface_map`, or has the
/// name that the kernel derives from the place of a card.
///
/// # Errors
/// Names the first exception, and the remedy.
pub(super) fn names_are_there(interfaces: &[Interface], cards: &[Card]) -> Result<(), String> {
    let is_card = |name: &String| cards.iter().any(|card| card.name == *name) || is_predictable(name);
    for one in interfaces {
        let member = match &one.kind {
            Kind::Ethernet if is_card(&one.name) => continue,
            Kind::Ethernet => {
                return Err(format!(
                    "interface {}: no card of mac_interface_map has this name; add it there, or correct the name",
                    one.name
                ));
            }
            Kind::Bond(_) => "link-aggregation.port",
            Kind::Vlan(_) => "vlan.base-iface",
            Kind::Bridge(_) => "bridge.port",
        };
        for part in one.kind.parts() {
            if !is_card(part) && interfaces.iter().all(|other| other.name != *part) {
                return Err(format!(
                    "interface {}: {member} names {part:?}, which is neither among the interfaces nor in mac_interface_map; \
                     add it there, or correct the name",
                    one.name
                ));
            }
        }
    }
    Ok(())
}

/// A port has no addresses of its own.
///
/// # Errors
/// Names the first port that has some, and the remedy.
pub(super) fn ports_have_no_addresses(interfaces: &[Interface]) -> Result<(), String> {
    for one in interfaces {
        let mut owners = interfaces.iter();
        let owner = owners.find(|owner| owner.kind.ports().contains(&one.name));
        let is_off = |family: &Addressing| family.is_off() && !family.link_local;
        if let Some(owner) = owner
            && !(is_off(&one.ipv4) && is_off(&one.ipv6))
        {
            return Err(format!(
                "interface {}: it is a port of {}, and ports have no addresses; give {} the addresses",
                one.name, owner.name, owner.name
            ));
        }
    }
    Ok(())
}

/// Every next hop is on a network of its outgoing interface. The networks that an interface has by DHCP or router
/// advertisements are not known.
///
/// # Errors
/// Names the first one that is on none, and the remedy.
pub(super) fn next_hops_are_reached(network: &StaticNetwork) -> Result<(), String> {
    for route in &network.routes {
        let interface = network.interfaces.iter().find(|one| one.name == route.interface);
        let (Some(gateway), Some(interface)) = (route.gateway, interface) else {
            continue;
        };
        if let Some(why) = unusable(gateway, interface) {
            return Err(format!(
                "route to {}: the next hop {gateway} {why}",
                route.destination
            ));
        }
        if !is_reached(gateway, interface, &network.routes) {
            return Err(unreached(route, gateway, interface));
        }
    }
    Ok(())
}

/// Why the kernel takes no route by that address, whatever else is there.
fn unusable(gateway: IpAddr, interface: &Interface) -> Option<String> {
    let Interface { name, ipv4, ipv6, .. } = interface;
    if gateway.is_loopback() || gateway.is_multicast() {
        return Some("is no address of a router; correct it".to_owned());
    }
    if is_link_local(gateway) && ipv6.is_off() && !ipv6.link_local {
        return Some(format!("needs IPv6, which is off on {name}; enable it there"));
    }
    let mut all = ipv4.addresses.iter().chain(&ipv6.addresses);
    all.find_map(|address| {
        let network = IpNet::new(address.ip, address.prefix).ok()?;
        // Networks of one or two addresses have no others.
        let has_ends = address.prefix + 1 < network.max_prefix_len() && gateway.is_ipv4();
        let what = if address.ip == gateway {
            format!("is an address of {name} itself")
        } else if has_ends && [network.network(), network.broadcast()].contains(&gateway) {
            format!("is no address of a router: it is an end of {}", network.trunc())
        } else {
            return None;
        };
        Some(format!("{what}; correct it"))
    })
}

fn is_link_local(gateway: IpAddr) -> bool {
    matches!(gateway, IpAddr::V6(gateway) if gateway.is_unicast_link_local())
}

fn is_reached(gateway: IpAddr, interface: &Interface, routes: &[Route]) -> bool {
    let has = |network: &Address| {
        IpNet::new(network.ip, network.prefix).is_ok_and(|network| network.contains(&gateway))
    };
    let mut on_link = routes
        .iter()
        .filter(|route| route.interface == interface.name && route.gateway.is_none());
    // The interface has such an address whenever it has IPv6.
    if is_link_local(gateway) {
        return true;
    }
    let family = if gateway.is_ipv6() {
        &interface.ipv6
    } else {
        &interface.ipv4
    };
    family.is_automatic() || family.addresses.iter().any(has) || on_link.any(|route| has(&route.destination))
}

fn unreached(route: &Route, gateway: IpAddr, interface: &Interface) -> String {
    let Interface { name, ipv4, ipv6, .. } = interface;
    let family = if gateway.is_ipv6() { ipv6 } else { ipv4 };
    let has: Vec<String> = family.addresses.iter().map(Address::to_string).collect();
    let has = match has.is_empty() {
        true => "none of this family".to_owned(),
        false => has.join(", "),
    };
    let host = if gateway.is_ipv6() { 128 } else { 32 };
    format!(
        "route to {}: the next hop {gateway} is on no network of {name} ({has}); correct it or the prefix-length, or add a route \
         to {gateway}/{host} over {name} without next-hop-address",
        route.destination
    )
}
