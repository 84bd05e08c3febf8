//! Collects the network interfaces. Source of the rules: docs/protocol/agent-inventory.md#8.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use muster_api::inventory::{Interface, SwitchPort};

use super::netlink::{Address, Link, Route};
use crate::root::Root;
use crate::view::network::SWITCH_PORTS;

/// Netlink's responses, as far as there are any.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub links: Vec<Link>,
    pub addresses: Vec<Address>,
    pub routes: Vec<Route>,
}

/// Every link of the machine, `lo` included, in order of index.
pub(super) fn interfaces(root: &Root, network: &Network) -> Vec<Interface> {
    // Only where this agent configures the network itself.
    let mut switch_ports: BTreeMap<String, SwitchPort> = root
        .text(SWITCH_PORTS)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    network
        .links
        .iter()
        .map(|link| Interface {
            switch_port: switch_ports.remove(&link.name),
            ..interface(root, link, network)
        })
        .collect()
}

fn interface(root: &Root, link: &Link, network: &Network) -> Interface {
    let folder = format!("/sys/class/net/{}", link.name);
    let number = |file: &str| {
        root.text(&format!("{folder}/{file}"))
            .ok()
            .and_then(|text| text.parse::<i64>().ok())
    };
    let text = |file: &str| root.text(&format!("{folder}/device/{file}")).unwrap_or_default();
    let own = network
        .addresses
        .iter()
        .filter(|address| address.link == link.index);
    let (v4, v6): (Vec<&Address>, Vec<&Address>) = own.partition(|address| address.ip.is_ipv4());
    Interface {
        name: link.name.clone(),
        mtu: i64::from(link.mtu),
        mac_address: mac_text(link.bond_permanent_address.as_ref().unwrap_or(&link.address)),
        has_carrier: number("carrier") == Some(1),
        speed_mbps: number("speed").unwrap_or(0),
        flags: link.flags.iter().map(|flag| (*flag).to_owned()).collect(),
        product: text("device"),
        vendor: text("vendor"),
        kind: kind(root, link),
        ipv4_addresses: v4
            .into_iter()
            .filter(|address| !is_link_local(&address.ip))
            .map(|address| format!("{}/{}", address.ip, address.prefix))
            .collect(),
        ipv6_addresses: v6
            .into_iter()
            .filter(|address| !is_link_local(&address.ip))
            .map(|address| format!("{}/{}", address.ip, prefix(address, &network.routes)))
            .collect(),
        biosdevname: String::new(),
        client_id: String::new(),
        switch_port: None,
    }
}

/// `physical`, else the kernel's kind, else `device`. A link without sysfs entry counts as physical.
fn kind(root: &Root, link: &Link) -> String {
    match root.resolve(&format!("/sys/class/net/{}", link.name)) {
        Ok(path) if path.contains("/virtual/") => link.kind.clone().unwrap_or_else(|| "device".to_owned()),
        _ => "physical".to_owned(),
    }
}

/// Lower case, colons; nothing for no address and for the zeros of `lo`.
fn mac_text(address: &[u8]) -> String {
    if address.iter().all(|byte| *byte == 0) {
        return String::new();
    }
    let parts: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    parts.join(":")
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// DHCPv6 gives single addresses (/128): their network is the one that routers announce on the same link.
fn prefix(address: &Address, routes: &[Route]) -> u8 {
    let IpAddr::V6(ip) = address.ip else {
        return address.prefix;
    };
    if address.prefix != 128 {
        return address.prefix;
    }
    routes
        .iter()
        .filter(|route| {
            route.from_router_advertisement && route.link == Some(address.link) && route.prefix > 0
        })
        .find(|route| match route.destination {
            IpAddr::V6(network) => same_network(network, ip, route.prefix),
            IpAddr::V4(_) => false,
        })
        .map_or(address.prefix, |route| route.prefix)
}

fn same_network(network: Ipv6Addr, ip: Ipv6Addr, prefix: u8) -> bool {
    let shift = 128 - u32::from(prefix.min(128));
    let cut = |address: Ipv6Addr| u128::from(address).checked_shr(shift).unwrap_or(0);
    cut(network) == cut(ip)
}

#[cfg(test)]
mod tests;
