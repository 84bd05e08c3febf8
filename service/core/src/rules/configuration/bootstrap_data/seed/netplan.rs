//! Expresses a static network in cloud-init's network configuration of version 2, which is netplan's. Cards are found by
//! their MAC addresses. Source: docs/protocol/static-network.md, docs/protocol/capi-day1.md#2.3.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::live::network::{
    Addressing, Bond, BondMode, Bridge, HashPolicy, Interface, Kind, Route, StaticNetwork, Vlan,
};
use serde::Serialize;
use thiserror::Error;

/// Longest name of a card that the kernel takes, bytes.
const LONGEST_NAME: usize = 15;

/// Options of a bond that netplan has, by the kernel's names.
const BOND_OPTIONS: &[(&str, &str)] = &[
    ("ad_select", "ad-select"),
    ("all_slaves_active", "all-slaves-active"),
    ("arp_all_targets", "arp-all-targets"),
    ("arp_interval", "arp-interval"),
    ("arp_ip_target", "arp-ip-targets"),
    ("arp_validate", "arp-validate"),
    ("fail_over_mac", "fail-over-mac-policy"),
    ("lp_interval", "learn-packet-interval"),
    ("min_links", "min-links"),
    ("packets_per_slave", "packets-per-slave"),
    ("primary_reselect", "primary-reselect-policy"),
    ("resend_igmp", "resend-igmp"),
];

/// Names of the same option of the kernel: announcements after a change of the active port.
const ANNOUNCEMENTS: [&str; 2] = ["num_grat_arp", "num_unsol_na"];

/// Options that netplan has not, with the value that the kernel has anyway.
const USUAL: &[(&str, &str)] = &[
    ("ad_actor_sys_prio", "65535"),
    ("ad_actor_system", "00:00:00:00:00:00"),
    ("ad_user_port_key", "0"),
    ("arp_missed_max", "2"),
    ("lacp_active", "on"),
    ("peer_notif_delay", "0"),
    ("tlb_dynamic_lb", "1"),
    ("use_carrier", "1"),
];

/// Values of `arp_validate` that netplan has.
const VALIDATIONS: [&str; 4] = ["none", "active", "backup", "all"];

/// A part of a network that netplan has no word for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "interface {interface}: {part} cannot be expressed for cloud-init (netplan, version 2); change the network, or install an \
     image that Ignition configures"
)]
pub struct NotInNetplan {
    pub interface: String,
    /// The part by the name that it has in the network's document.
    pub part: String,
}

#[derive(Serialize)]
struct Document {
    version: u8,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ethernets: BTreeMap<String, Device>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    bonds: BTreeMap<String, Device>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    bridges: BTreeMap<String, Device>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vlans: BTreeMap<String, Device>,
}

/// A device of any kind. Members of other kinds are absent.
#[derive(Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Device {
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    matched: Option<Match>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'static str, Parameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    macaddress: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u16>,
    dhcp4: bool,
    dhcp6: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dhcp4_overrides: Option<Overrides>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accept_ra: Option<bool>,
    /// Empty: no IPv6 at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_local: Option<[&'static str; 0]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nameservers: Option<NameServers>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<NetplanRoute>,
}

#[derive(Serialize)]
struct Match {
    macaddress: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Parameter {
    Flag(bool),
    Number(u32),
    Text(String),
    List(Vec<String>),
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Overrides {
    #[serde(skip_serializing_if = "Option::is_none")]
    route_metric: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_dns: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_domains: Option<bool>,
}

#[derive(Serialize)]
struct NameServers {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    search: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct NetplanRoute {
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_link: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<u32>,
}

/// `network-config` of version 2.
///
/// # Errors
/// The first part of the network that it cannot express.
pub fn network_config(network: &StaticNetwork) -> Result<String, NotInNetplan> {
    let mut document = Document {
        version: 2,
        ethernets: BTreeMap::new(),
        bonds: BTreeMap::new(),
        bridges: BTreeMap::new(),
        vlans: BTreeMap::new(),
    };
    for interface in &network.interfaces {
        let device = device(network, interface)?;
        let devices = match &interface.kind {
            Kind::Ethernet => &mut document.ethernets,
            Kind::Bond(_) => &mut document.bonds,
            Kind::Bridge(_) => &mut document.bridges,
            Kind::Vlan(_) => &mut document.vlans,
        };
        devices.insert(interface.name.clone(), device);
    }
    Ok(super::yaml(&document))
}

fn refused(interface: &Interface, part: impl Into<String>) -> NotInNetplan {
    NotInNetplan {
        interface: interface.name.clone(),
        part: part.into(),
    }
}

fn device(network: &StaticNetwork, interface: &Interface) -> Result<Device, NotInNetplan> {
    let mut device = Device {
        mtu: interface.mtu,
        macaddress: interface.mac.clone(),
        ..Device::default()
    };
    match &interface.kind {
        Kind::Ethernet => card(network, interface, &mut device)?,
        Kind::Bond(bond) => {
            device.interfaces = Some(bond.ports.clone());
            device.parameters = bond_parameters(interface, bond)?;
        }
        Kind::Bridge(Bridge { ports, stp }) => {
            device.interfaces = Some(ports.clone());
            // Netplan's default is true.
            device.parameters.insert("stp", Parameter::Flag(*stp));
        }
        Kind::Vlan(Vlan { base, id }) => {
            device.id = Some(*id);
            device.link = Some(base.clone());
        }
    }
    let is_port = |owner: &Interface| owner.kind.ports().contains(&interface.name);
    if !network.interfaces.iter().any(is_port) {
        addressing(network, interface, &mut device)?;
    }
    Ok(device)
}

/// A card with a known address has it for a match, and is named as in the network: names of cards are the kernel's choice
/// on each system, and not every part of cloud-init refers to devices by their ids.
fn card(network: &StaticNetwork, interface: &Interface, device: &mut Device) -> Result<(), NotInNetplan> {
    let Some(card) = network.cards.iter().find(|card| card.name == interface.name) else {
        return Ok(());
    };
    let name = &interface.name;
    let is_bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(is_bad) {
        let part = "its name, which the card gets (at most 15 bytes, without / : and blanks),";
        return Err(refused(interface, part));
    }
    device.matched = Some(Match {
        macaddress: card.mac.clone(),
    });
    device.set_name = Some(name.clone());
    Ok(())
}

fn bond_parameters(
    interface: &Interface,
    bond: &Bond,
) -> Result<BTreeMap<&'static str, Parameter>, NotInNetplan> {
    let mode: &'static str = bond.mode.into();
    let mut parameters = BTreeMap::from([("mode", Parameter::Text(mode.to_owned()))]);
    let milliseconds = [
        ("mii-monitor-interval", bond.miimon),
        ("up-delay", bond.updelay),
        ("down-delay", bond.downdelay),
    ];
    for (name, value) in milliseconds {
        if let Some(value) = value {
            parameters.insert(name, Parameter::Number(value));
        }
    }
    if bond.mode == BondMode::Lacp && bond.lacp_fast {
        parameters.insert("lacp-rate", Parameter::Text("fast".to_owned()));
    }
    if let Some(primary) = &bond.primary {
        parameters.insert("primary", Parameter::Text(primary.clone()));
    }
    match bond.xmit_hash_policy {
        None => {}
        Some(HashPolicy::VlanSrcMac) => {
            return Err(refused(interface, "the bond option xmit_hash_policy=vlan+srcmac"));
        }
        Some(policy) => {
            let policy: &'static str = policy.into();
            parameters.insert("transmit-hash-policy", Parameter::Text(policy.to_owned()));
        }
    }
    for (option, value) in &bond.options {
        if let Some((name, value)) = bond_option(interface, option, value)? {
            parameters.insert(name, value);
        }
    }
    Ok(parameters)
}

/// `None`: it is what the kernel does anyway.
fn bond_option(
    interface: &Interface,
    option: &str,
    value: &str,
) -> Result<Option<(&'static str, Parameter)>, NotInNetplan> {
    let number = || {
        let number = value.parse::<u32>();
        number.map_or_else(|_| Parameter::Text(value.to_owned()), Parameter::Number)
    };
    if ANNOUNCEMENTS.contains(&option) {
        return Ok(Some(("gratuitous-arp", number())));
    }
    if USUAL.contains(&(option, value)) {
        return Ok(None);
    }
    let known = BOND_OPTIONS.iter().find(|(name, _)| *name == option);
    let Some((_, name)) = known else {
        return Err(refused(interface, format!("the bond option {option}")));
    };
    let value = match option {
        "all_slaves_active" => Parameter::Flag(value == "delivered"),
        "arp_ip_target" => Parameter::List(value.split(',').map(str::to_owned).collect()),
        "arp_validate" if !VALIDATIONS.contains(&value) => {
            return Err(refused(interface, format!("the bond option {option}={value}")));
        }
        _ => number(),
    };
    Ok(Some((*name, value)))
}

fn addressing(
    network: &StaticNetwork,
    interface: &Interface,
    device: &mut Device,
) -> Result<(), NotInNetplan> {
    let Interface { ipv4, ipv6, .. } = interface;
    if ipv6.is_automatic() && ipv6.own_name_servers_alone {
        return Err(refused(interface, "ipv6.auto-dns: false"));
    }
    if ipv6.is_automatic() && ipv6.metric.is_some() {
        return Err(refused(interface, "ipv6.auto-route-metric"));
    }
    device.dhcp4 = ipv4.dhcp;
    device.dhcp6 = ipv6.dhcp;
    // DHCPv6 gives no routes: they come from advertisements.
    device.accept_ra = Some(ipv6.is_automatic());
    if ipv6.is_off() && !ipv6.link_local {
        device.link_local = Some([]);
    }
    if ipv4.dhcp && (ipv4.metric.is_some() || ipv4.own_name_servers_alone) {
        let never = ipv4.own_name_servers_alone.then_some(false);
        device.dhcp4_overrides = Some(Overrides {
            route_metric: ipv4.metric,
            use_dns: never,
            use_domains: never,
        });
    }
    let addresses = ipv4.addresses.iter().chain(&ipv6.addresses);
    device.addresses = addresses.map(ToString::to_string).collect();
    if has_name_servers(network, interface) {
        device.nameservers = Some(NameServers {
            addresses: network.name_servers.iter().map(IpAddr::to_string).collect(),
            search: network.search.clone(),
        });
    }
    let routes = network.routes.iter();
    let routes = routes.filter(|route| route.interface == interface.name);
    device.routes = routes.map(|route| of_route(route, interface)).collect();
    Ok(())
}

/// Netplan has name servers by device, and the network has some for the machine: they go with the default routes, else
/// with automatic addresses, else with all addresses.
fn has_name_servers(network: &StaticNetwork, interface: &Interface) -> bool {
    if network.name_servers.is_empty() && network.search.is_empty() {
        return false;
    }
    let leads_out = |one: &Interface| {
        let mut routes = network.routes.iter();
        routes.any(|route| route.interface == one.name && route.destination.prefix == 0)
    };
    let is_automatic = |one: &Interface| one.ipv4.is_automatic() || one.ipv6.is_automatic();
    let has_addresses = |one: &Interface| !one.ipv4.is_off() || !one.ipv6.is_off();
    let all = &network.interfaces;
    if all.iter().any(leads_out) {
        leads_out(interface)
    } else if all.iter().any(is_automatic) {
        is_automatic(interface)
    } else {
        has_addresses(interface)
    }
}

fn of_route(route: &Route, interface: &Interface) -> NetplanRoute {
    let family: &Addressing = if route.destination.ip.is_ipv6() {
        &interface.ipv6
    } else {
        &interface.ipv4
    };
    let is_reached = |gateway: &IpAddr| {
        let contains = |net: IpNet| net.contains(gateway);
        let mut nets = family.addresses.iter();
        let is_link_local = matches!(gateway, IpAddr::V6(ip) if ip.is_unicast_link_local());
        is_link_local
            || family.is_automatic()
            || nets.any(|address| IpNet::new(address.ip, address.prefix).is_ok_and(contains))
    };
    NetplanRoute {
        to: route.destination.to_string(),
        via: route.gateway.map(|gateway| gateway.to_string()),
        on_link: route.gateway.filter(|gateway| !is_reached(gateway)).map(|_| true),
        scope: route.gateway.is_none().then_some("link"),
        metric: route.metric.or(family.metric),
    }
}

#[cfg(test)]
mod tests;
