//! Renders a static network as connections of NetworkManager.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use uuid::Uuid;

use super::{Addressing, Bond, Interface, Kind, Route, StaticNetwork};

/// Name and text of a file for each interface of the network. Cards are found by their addresses, whatever the kernel calls them.
pub fn keyfiles(network: &StaticNetwork) -> impl Iterator<Item = (String, String)> {
    let file = |interface: &Interface| {
        (
            format!("{}.nmconnection", interface.name),
            keyfile(network, interface),
        )
    };
    network.interfaces.iter().map(file)
}

type Sections = Vec<(&'static str, Vec<(String, String)>)>;

fn keyfile(network: &StaticNetwork, interface: &Interface) -> String {
    let mut sections: Sections = vec![("connection", connection(network, interface))];
    let mut ethernet = Vec::new();
    let mut set = |key: &str, value: String| ethernet.push((key.to_owned(), value));
    let card = network.cards.iter().find(|card| card.name == interface.name);
    if interface.kind == Kind::Ethernet
        && let Some(card) = card
    {
        set("mac-address", card.mac.to_ascii_uppercase());
    }
    if let Some(mac) = &interface.mac {
        set("cloned-mac-address", mac.to_ascii_uppercase());
    }
    if let Some(mtu) = interface.mtu {
        set("mtu", mtu.to_string());
    }
    if !ethernet.is_empty() || interface.kind == Kind::Ethernet {
        sections.push(("ethernet", ethernet));
    }
    match &interface.kind {
        Kind::Ethernet => {}
        Kind::Bond(bond) => sections.push(("bond", bond_options(bond).into_iter().collect())),
        Kind::Vlan(vlan) => sections.push((
            "vlan",
            vec![
                ("id".into(), vlan.id.to_string()),
                ("parent".into(), uuid(&vlan.base).to_string()),
            ],
        )),
        Kind::Bridge(bridge) => sections.push(("bridge", vec![("stp".into(), bridge.stp.to_string())])),
    }
    if owner(network, interface).is_none() {
        sections.push(("ipv4", family(network, interface, false)));
        sections.push(("ipv6", family(network, interface, true)));
    }
    let mut text = String::new();
    for (name, values) in sections {
        let _ = writeln!(text, "[{name}]");
        for (key, value) in values {
            let _ = writeln!(text, "{key}={value}");
        }
        text.push('\n');
    }
    text
}

fn connection(network: &StaticNetwork, interface: &Interface) -> Vec<(String, String)> {
    let kind = match interface.kind {
        Kind::Ethernet => "ethernet",
        Kind::Bond(_) => "bond",
        Kind::Vlan(_) => "vlan",
        Kind::Bridge(_) => "bridge",
    };
    let mut values = vec![
        ("id".to_owned(), interface.name.clone()),
        ("uuid".to_owned(), uuid(&interface.name).to_string()),
        ("type".to_owned(), kind.to_owned()),
        ("autoconnect".to_owned(), "true".to_owned()),
        ("autoconnect-priority".to_owned(), "1".to_owned()),
    ];
    let has_card = network.cards.iter().any(|card| card.name == interface.name);
    // The kernel's name of a card on another system is found by its address.
    if interface.kind != Kind::Ethernet || !has_card {
        values.push(("interface-name".to_owned(), interface.name.clone()));
    }
    if let Some(owner) = owner(network, interface) {
        let kind = if matches!(owner.kind, Kind::Bond(_)) {
            "bond"
        } else {
            "bridge"
        };
        values.push(("master".to_owned(), uuid(&owner.name).to_string()));
        values.push(("slave-type".to_owned(), kind.to_owned()));
    }
    values
}

/// The bond or bridge that the interface is a port of.
fn owner<'a>(network: &'a StaticNetwork, interface: &Interface) -> Option<&'a Interface> {
    let has = |one: &&Interface| one.kind.ports().contains(&interface.name);
    network.interfaces.iter().find(has)
}

/// The same for the same name, so that connections can refer to each other.
fn uuid(name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_DNS, format!("{name}.network.muster").as_bytes())
}

fn bond_options(bond: &Bond) -> BTreeMap<String, String> {
    let mode: &'static str = bond.mode.into();
    let policy = bond.xmit_hash_policy.map(<&'static str>::from);
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let options = [
        ("mode", Some(mode.to_owned())),
        ("miimon", number(bond.miimon)),
        ("updelay", number(bond.updelay)),
        ("downdelay", number(bond.downdelay)),
        ("primary", bond.primary.clone()),
        ("lacp_rate", bond.lacp_fast.then(|| "fast".to_owned())),
        ("xmit_hash_policy", policy.map(str::to_owned)),
    ];
    let said = options
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    said.collect()
}

fn family(network: &StaticNetwork, interface: &Interface, v6: bool) -> Vec<(String, String)> {
    let said: &Addressing = if v6 { &interface.ipv6 } else { &interface.ipv4 };
    let automatic = if v6 && !said.autoconf { "dhcp" } else { "auto" };
    let method = match (said.dhcp || said.autoconf, said.addresses.is_empty()) {
        (true, _) => automatic,
        (false, true) => "disabled",
        (false, false) => "manual",
    };
    let mut values = vec![("method".to_owned(), method.to_owned())];
    let mut set = |key: String, value: String| values.push((key, value));
    for (number, address) in (1..).zip(&said.addresses) {
        set(format!("address{number}"), address.to_string());
    }
    let routes = network
        .routes
        .iter()
        .filter(|route| route.interface == interface.name && route.destination.ip.is_ipv6() == v6);
    for (number, route) in (1..).zip(routes) {
        set(format!("route{number}"), route_text(route));
    }
    let servers = network
        .name_servers
        .iter()
        .filter(|server| server.is_ipv6() == v6);
    let servers: Vec<String> = servers.map(IpAddr::to_string).collect();
    if method == "manual" && !servers.is_empty() {
        set("dns".to_owned(), format!("{};", servers.join(";")));
    }
    if method == "manual" && !network.search.is_empty() {
        set("dns-search".to_owned(), format!("{};", network.search.join(";")));
    }
    values
}

/// `NETWORK/PREFIX,GATEWAY,METRIC` without the parts at the end that are not said.
fn route_text(route: &Route) -> String {
    let mut text = route.destination.to_string();
    match (route.gateway, route.metric) {
        (None, None) => {}
        (Some(gateway), None) => {
            let _ = write!(text, ",{gateway}");
        }
        (gateway, Some(metric)) => {
            let unspecified = if route.destination.ip.is_ipv6() {
                "::"
            } else {
                "0.0.0.0"
            };
            let gateway = gateway.map_or_else(|| unspecified.to_owned(), |gateway| gateway.to_string());
            let _ = write!(text, ",{gateway},{metric}");
        }
    }
    text
}
