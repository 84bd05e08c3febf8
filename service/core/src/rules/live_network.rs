//! Understands a `network_yaml` (nmstate) as far as the Muster live image applies it. Nothing in it is passed over that would
//! change what the machine does on its network: what is not applied is refused by its name.
//! Source: docs/protocol/static-network.md.

mod document;
mod order;

use std::collections::BTreeSet;
use std::net::IpAddr;

use muster_api::infra_env::HostStaticNetworkConfig;
use muster_api::live::network::{
    Address, Addressing, Bond, Bridge, Card, Interface, Kind, Route, StaticNetwork, Vlan,
};
use serde_json::Value;

use super::input::Invalid;
use crate::record::Settings;

use self::document::{Document, RawAddressing, RawBond, RawInterface, RawRoute, State, Type, text};

/// Longest name of a device that the kernel takes, bytes.
const LONGEST_NAME: usize = 15;

/// Greatest VLAN.
const LAST_VLAN: u16 = 4094;

/// Tables of routes that are looked up without a rule: none said, and the main one.
const MAIN_TABLES: [u32; 2] = [0, 254];

/// Most bytes of all networks of an InfraEnv in its image, which reserves 256 KiB for its whole configuration.
const MOST_BYTES: usize = 192 << 10;

/// Checks that the networks fit into the image.
///
/// # Errors
/// With both lengths.
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

/// Those that the live image applies.
pub fn live_networks(settings: &Settings) -> Vec<StaticNetwork> {
    let hosts = settings.static_network_config.iter();
    hosts.filter_map(|host| live_network(host).ok()).collect()
}

/// The first that the live image does not apply: its place in the list, and the reason.
pub fn first_unapplied(hosts: &[HostStaticNetworkConfig]) -> Option<(usize, String)> {
    let mut read = hosts.iter().map(live_network).enumerate();
    read.find_map(|(index, read)| Some((index, read.err()?)))
}

/// The network of the host as the live image applies it.
///
/// # Errors
/// With the part that the live image does not apply, or that makes no sense.
pub fn live_network(host: &HostStaticNetworkConfig) -> Result<StaticNetwork, String> {
    let yaml = host.network_yaml.as_deref().unwrap_or_default();
    let parsed: Value = serde_saphyr::from_str(yaml).map_err(|_| "it is not YAML".to_owned())?;
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
    let interfaces = order::by_parts(interfaces)?;
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
    };
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
    if raw.identifier.as_deref() == Some("mac-address") {
        let Some(mac) = mac.take() else {
            return Err("identifier mac-address needs a mac-address".to_owned());
        };
        if cards.iter().all(|card| card.mac != mac) {
            cards.push(Card {
                mac,
                name: raw.name.clone(),
            });
        }
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
            if vlan
                .protocol
                .as_deref()
                .is_some_and(|protocol| protocol != "802.1q")
            {
                return Err("of VLANs, 802.1q is applied only".to_owned());
            }
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
        let wrong = || format!("the bond option {option} cannot be {value}");
        let number = || value.parse::<u32>().map(Some).map_err(|_| wrong());
        match option.as_str() {
            "miimon" => bond.miimon = number()?,
            "updelay" => bond.updelay = number()?,
            "downdelay" => bond.downdelay = number()?,
            "primary" => bond.primary = Some(value.clone()).filter(|name| !name.is_empty()),
            "xmit_hash_policy" => bond.xmit_hash_policy = Some(value.parse().map_err(|_| wrong())?),
            "lacp_rate" => {
                bond.lacp_fast = match value.as_str() {
                    "fast" | "1" => true,
                    "slow" | "0" => false,
                    _ => return Err(wrong()),
                }
            }
            _ => return Err(format!("the bond option {option} is not applied")),
        }
    }
    Ok(bond)
}

fn addressing(raw: RawAddressing, v6: bool) -> Result<Addressing, String> {
    if raw.enabled == Some(false) {
        return Ok(Addressing::default());
    }
    let (dhcp, autoconf) = (raw.dhcp.unwrap_or_default(), raw.autoconf.unwrap_or_default());
    if autoconf && !v6 {
        return Err("there is no autoconf".to_owned());
    }
    let partly = [
        ("auto-dns", raw.auto_dns),
        ("auto-gateway", raw.auto_gateway),
        ("auto-routes", raw.auto_routes),
    ];
    if let Some((name, _)) = partly.iter().find(|(_, value)| *value == Some(false))
        && (dhcp || autoconf)
    {
        return Err(format!("{name}: false beside DHCP or autoconf is not applied"));
    }
    let mut addresses = Vec::new();
    for address in raw.address.unwrap_or_default() {
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
        addresses,
    })
}

fn checked_route(raw: RawRoute, interfaces: &[Interface]) -> Result<Route, String> {
    let to = raw.destination.as_deref().unwrap_or_default();
    let wrong = |why: &str| format!("route to {to:?}: {why}");
    let network = to.split_once('/').and_then(|(ip, prefix)| {
        Some(Address {
            ip: ip.parse().ok()?,
            prefix: prefix.parse().ok()?,
        })
    });
    let destination = network
        .filter(|one| one.prefix <= if one.ip.is_ipv6() { 128 } else { 32 })
        .ok_or_else(|| wrong("a destination such as 0.0.0.0/0 is expected"))?;
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

/// The names of the interfaces of a document.
fn names(interfaces: &[Interface]) -> BTreeSet<&str> {
    interfaces.iter().map(|one| one.name.as_str()).collect()
}

#[cfg(test)]
mod tests;
