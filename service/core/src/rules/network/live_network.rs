//! Parses a `network_yaml` (nmstate) as far as the Muster live image applies it. Nothing is ignored that would change
//! the machine's network: parts that are not applied are refused by name. Source: docs/protocol/static-network.md.

mod document;
mod effectless;
mod scalars;
mod whole;

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::infra_env::HostStaticNetworkConfig;
use muster_api::live::network::{
    Address, Addressing, Bond, Bridge, Card, Interface, Kind, OptionError, Route, StaticNetwork, Vlan,
    by_parts, is_mac,
};
use serde_json::Value;

use crate::record::Settings;
use crate::rules::input::Invalid;

use self::document::{Document, RawAddressing, RawBond, RawInterface, RawRoute, State, Type, text};

/// Longest name of a device that the kernel takes, bytes.
const LONGEST_NAME: usize = 15;

/// Greatest VLAN.
const LAST_VLAN: u16 = 4094;

/// Options of a bond that are refused in modes that do not have them. Source: nmstate 2.2.62 (`ifaces/bond.rs`).
const REFUSED_IN_OTHER_MODES: [&str; 5] = [
    "arp_interval",
    "arp_ip_target",
    "lacp_active",
    "lacp_rate",
    "ns_ip6_target",
];

/// Tables in which routes are looked up without a rule: none given, and the main one.
const MAIN_TABLES: [u32; 2] = [0, 254];

/// Most bytes of all networks of an InfraEnv in its image, which reserves 256 KiB for its whole configuration.
const MOST_BYTES: usize = 192 << 10;

/// Checks that the networks fit into the image.
///
/// # Errors
/// If they do not; the text has both lengths.
pub fn check_size(settings: &Settings) -> Result<(), Invalid> {
    let networks = live_networks(settings);
    let length = serde_json::to_vec(&networks).map_or(0, |json| json.len());
    if networks.is_empty() || length <= MOST_BYTES {
        return Ok(());
    }
    Err(Invalid::new(
        "static_network_config",
        format!(
            "needs {length} bytes in the image for {} hosts, and {MOST_BYTES} fit; make another InfraEnv for some of them",
            networks.len()
        ),
    ))
}

/// The networks that the live image applies.
pub fn live_networks(settings: &Settings) -> Vec<StaticNetwork> {
    let hosts = settings.static_network_config.iter();
    hosts.filter_map(|host| live_network(host).ok()).collect()
}

/// The first network that the live image does not apply: its place in the list, and the reason.
pub fn first_unapplied(hosts: &[HostStaticNetworkConfig]) -> Option<(usize, String)> {
    let mut read = hosts.iter().map(live_network).enumerate();
    read.find_map(|(index, read)| Some((index, read.err()?)))
}

/// Names of cards whose addresses the network does not have: they are the kernel's, by the place of a card in the machine.
pub fn cards_by_place(network: &StaticNetwork) -> impl Iterator<Item = &str> {
    let names = network.interfaces.iter().filter(|one| one.kind == Kind::Ethernet);
    let names = names.map(|one| one.name.as_str());
    names.filter(move |name| network.cards.iter().all(|card| card.name != *name))
}

/// The network of the host as the live image applies it.
///
/// # Errors
/// The part that the live image does not apply, or that is inconsistent.
pub fn live_network(host: &HostStaticNetworkConfig) -> Result<StaticNetwork, String> {
    let yaml = host.network_yaml.as_deref().unwrap_or_default();
    let mut parsed: Value = serde_saphyr::from_str(yaml).map_err(|_| "it is not YAML".to_owned())?;
    effectless::strip(&mut parsed);
    let document: Document = serde_path_to_error::deserialize(parsed).map_err(|error| error.to_string())?;
    let mut cards: Vec<Card> = host
        .mac_interface_map
        .iter()
        .map(|card| Card {
            mac: card
                .mac_address
                .as_deref()
                .unwrap_or_default()
                .to_ascii_lowercase(),
            name: card.logical_nic_name.clone().unwrap_or_default(),
        })
        .collect();
    let mut interfaces = Vec::new();
    for raw in document.interfaces.unwrap_or_default() {
        if matches!(raw.state, State::Absent | State::Ignore) {
            continue;
        }
        let name = raw.name.clone();
        interfaces.push(interface(raw, &mut cards).map_err(|why| format!("interface {name}: {why}"))?);
    }
    whole::names_are_there(&interfaces, &cards)?;
    whole::ports_have_no_addresses(&interfaces)?;
    let interfaces = by_parts(interfaces)?;
    let routes = document.routes.and_then(|routes| routes.config);
    let dns = document
        .dns_resolver
        .and_then(|dns| dns.config)
        .unwrap_or_default();
    let network = StaticNetwork {
        routes: routes
            .into_iter()
            .flatten()
            .filter(|route| !matches!(route.state, State::Absent))
            .map(|route| checked_route(route, &interfaces))
            .collect::<Result<_, _>>()?,
        name_servers: dns
            .server
            .unwrap_or_default()
            .iter()
            .map(|server| {
                let parsed: Result<IpAddr, _> = server.parse();
                parsed.map_err(|_| format!("the name server {server:?} is no IP address"))
            })
            .collect::<Result<_, _>>()?,
        search: dns.search.unwrap_or_default(),
        cards,
        interfaces,
        ..StaticNetwork::default()
    };
    whole::next_hops_are_reached(&network)?;
    Ok(network)
}

fn interface(raw: RawInterface, cards: &mut Vec<Card>) -> Result<Interface, String> {
    let is_card = matches!(raw.kind, Type::Ethernet | Type::Unknown);
    if !is_card && (raw.name.len() > LONGEST_NAME || raw.name.contains(['/', ' '])) {
        return Err(format!(
            "the kernel takes names of at most {LONGEST_NAME} bytes, without / and blanks"
        ));
    }
    let mut mac = raw.mac_address.as_deref().map(str::to_ascii_lowercase);
    if mac.as_deref().is_some_and(|mac| !is_mac(mac)) {
        return Err("mac-address: six bytes with colons are expected".to_owned());
    }
    match raw.identifier.as_deref() {
        None | Some("name") => {
            // Omits a MAC address that the card has anyway.
            mac.take_if(|mac| cards.iter().any(|card| card.name == raw.name && card.mac == *mac));
        }
        Some("mac-address") => {
            let Some(mac) = mac.take() else {
                return Err("identifier mac-address needs a mac-address".to_owned());
            };
            let name = raw.name.clone();
            match cards.iter_mut().find(|card| card.mac == mac) {
                // The document has a name of its own for the card.
                Some(card) => card.name = name,
                None => cards.push(Card { mac, name }),
            }
        }
        Some(other) => return Err(format!("identifier {other} is not applied")),
    }
    if let Some(from) = &raw.copy_mac_from {
        let card = cards.iter().find(|card| card.name == *from);
        let card = card.ok_or_else(|| format!("copy-mac-from: {from} is not in mac_interface_map"))?;
        mac = Some(card.mac.clone());
    }
    let kind = match raw.kind {
        Type::Ethernet | Type::Unknown => Kind::Ethernet,
        Type::Bond => Kind::Bond(bond(
            raw.link_aggregation.ok_or("a bond needs link-aggregation")?,
        )?),
        Type::Vlan => {
            let vlan = raw.vlan.ok_or("a vlan needs base-iface and id")?;
            if !(1..=LAST_VLAN).contains(&vlan.id) {
                return Err(format!("the VLAN {} is not 1 to {LAST_VLAN}", vlan.id));
            }
            Kind::Vlan(Vlan {
                base: vlan.base_iface,
                id: vlan.id,
            })
        }
        Type::LinuxBridge => {
            let bridge = raw.bridge.ok_or("a linux-bridge needs bridge.port")?;
            let stp = bridge.options.and_then(|options| options.stp);
            Kind::Bridge(Bridge {
                ports: bridge
                    .port
                    .unwrap_or_default()
                    .into_iter()
                    .map(|port| port.name)
                    .collect(),
                stp: stp.and_then(|stp| stp.enabled).unwrap_or_default(),
            })
        }
    };
    let up = matches!(raw.state, State::Up);
    let family = |raw: Option<RawAddressing>, v6: bool| match raw.filter(|_| up) {
        Some(raw) => addressing(raw, v6),
        None => Ok(Addressing::default()),
    };
    Ok(Interface {
        kind,
        mtu: raw.mtu,
        mac,
        ipv4: family(raw.ipv4, false).map_err(|why| format!("ipv4: {why}"))?,
        ipv6: family(raw.ipv6, true).map_err(|why| format!("ipv6: {why}"))?,
        name: raw.name,
    })
}

fn bond(raw: RawBond) -> Result<Bond, String> {
    let mode = text(&raw.mode);
    let mut bond = Bond {
        mode: mode
            .parse()
            .map_err(|_| format!("there is no bond mode {mode}"))?,
        ports: raw.port.unwrap_or_default(),
        ..Bond::default()
    };
    for (option, value) in raw.options.unwrap_or_default() {
        let value = text(&value);
        bond.set(&option, &value).map_err(|error| match error {
            OptionError::Unknown => format!("the bond option {option} is not applied"),
            OptionError::Value => format!("the bond option {option} cannot be {value}"),
        })?;
    }
    // Only the options that nmstate refuses; the others have no effect in this mode.
    let refused = |option: &&&str| REFUSED_IN_OTHER_MODES.contains(option);
    if let Some(option) = bond.drop_misfits().iter().find(refused) {
        return Err(format!("the bond option {option} is not of mode {mode}"));
    }
    if let Some((option, port)) = bond.drop_strangers().first() {
        return Err(format!(
            "the bond option {option} names {port:?}, which is none of its ports; correct it, or add it to them"
        ));
    }
    Ok(bond)
}

fn addressing(raw: RawAddressing, v6: bool) -> Result<Addressing, String> {
    let (dhcp, autoconf) = (raw.dhcp.unwrap_or_default(), raw.autoconf.unwrap_or_default());
    let given = raw.address.unwrap_or_default();
    match raw.enabled {
        Some(true) => {}
        Some(false) => return Ok(Addressing::default()),
        None if dhcp || autoconf || !given.is_empty() => {
            return Err(
                "enabled: true is missing, without which nmstate leaves it off; add it, or take the rest away".to_owned(),
            );
        }
        None => return Ok(Addressing::default()),
    }
    if autoconf && !v6 {
        return Err("there is no autoconf".to_owned());
    }
    let partly = [
        ("auto-gateway", raw.auto_gateway),
        ("auto-routes", raw.auto_routes),
    ];
    if let Some((name, _)) = partly.iter().find(|(_, value)| *value == Some(false)) {
        return Err(format!("{name}: false with DHCP or autoconf is not applied"));
    }
    let mut addresses = Vec::new();
    for address in given {
        let longest = if v6 { 128 } else { 32 };
        if address.ip.is_ipv6() != v6 {
            return Err(format!("{} is of the other family", address.ip));
        }
        if address.prefix_length > longest {
            return Err(format!(
                "prefix-length {} is more than {longest}",
                address.prefix_length
            ));
        }
        addresses.push(Address {
            ip: address.ip,
            prefix: address.prefix_length,
        });
    }
    Ok(Addressing {
        dhcp,
        autoconf,
        link_local: v6 && !dhcp && !autoconf && addresses.is_empty(),
        addresses,
        metric: raw.auto_route_metric,
        own_name_servers_alone: raw.auto_dns == Some(false),
    })
}

fn checked_route(raw: RawRoute, interfaces: &[Interface]) -> Result<Route, String> {
    let to = raw.destination.as_deref().unwrap_or_default();
    let wrong = |why: &str| format!("route to {to:?}: {why}");
    // A single address, or a network that contains it.
    let network = match to.split_once('/') {
        Some(_) => to.parse::<IpNet>().ok(),
        None => to.parse::<IpAddr>().ok().map(IpNet::from),
    };
    let network = network.ok_or_else(|| wrong("a destination such as 0.0.0.0/0 is expected"))?;
    let destination = Address {
        ip: network.network(),
        prefix: network.prefix_len(),
    };
    if raw.table_id.is_some_and(|table| !MAIN_TABLES.contains(&table)) {
        return Err(wrong("tables other than the main one are not applied"));
    }
    let Some(interface) = raw.next_hop_interface.filter(|name| !name.is_empty()) else {
        return Err(wrong("next-hop-interface is missing"));
    };
    if interfaces.iter().all(|one| one.name != interface) {
        return Err(wrong(&format!("{interface} is not among the interfaces")));
    }
    let gateway = match raw.next_hop_address.as_deref() {
        None | Some("" | "0.0.0.0" | "::") => None,
        Some(address) => Some(
            address
                .parse::<IpAddr>()
                .ok()
                .filter(|gateway| gateway.is_ipv6() == destination.ip.is_ipv6())
                .ok_or_else(|| wrong(&format!("{address:?} is no address of the same family")))?,
        ),
    };
    Ok(Route {
        destination,
        gateway,
        interface,
        metric: raw.metric.and_then(|metric| u32::try_from(metric).ok()),
    })
}

#[cfg(test)]
mod tests;
