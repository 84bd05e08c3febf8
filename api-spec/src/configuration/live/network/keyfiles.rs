//! Renders a static network as connections of NetworkManager.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::IpAddr;

use uuid::Uuid;

use super::{Addressing, Bond, Interface, Kind, Route, StaticNetwork};

/// A file with one connection. Its text is its `Display`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyfile {
    /// Of the file, without a folder.
    pub name: String,
    /// Names of the sections, with keys and values.
    pub sections: Vec<(&'static str, Vec<(String, String)>)>,
}

impl fmt::Display for Keyfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, values) in &self.sections {
            writeln!(f, "[{name}]")?;
            for (key, value) in values {
                writeln!(f, "{key}={value}")?;
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// A file for each interface of the network. Cards are found by their addresses, whatever the kernel calls them, but for a bond's
/// options that name a port: `names` has the kernel's names of cards by their addresses (lower case), as far as they are known.
pub fn keyfiles(network: &StaticNetwork, names: &BTreeMap<String, String>) -> impl Iterator<Item = Keyfile> {
    let all = network.interfaces.iter().chain(&network.others);
    all.map(|interface| keyfile(network, interface, names))
}

/// Name of the connection for all other cards.
const OTHERS: &str = "default_connection";

fn keyfile(network: &StaticNetwork, interface: &Interface, names: &BTreeMap<String, String>) -> Keyfile {
    let mut sections = vec![("connection", connection(network, interface))];
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
        Kind::Bond(bond) => {
            let name_of = |port: &str| {
                let card = network.cards.iter().find(|card| card.name == port);
                let name = card.and_then(|card| names.get(&card.mac));
                name.map_or_else(|| port.to_owned(), Clone::clone)
            };
            sections.push(("bond", bond_options(bond, name_of).into_iter().collect()));
        }
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
    Keyfile {
        name: format!("{}.nmconnection", id(interface)),
        sections,
    }
}

/// The name of the connection.
fn id(interface: &Interface) -> &str {
    match interface.name.as_str() {
        "" => OTHERS,
        name => name,
    }
}

fn connection(network: &StaticNetwork, interface: &Interface) -> Vec<(String, String)> {
    let kind = match interface.kind {
        Kind::Ethernet => "ethernet",
        Kind::Bond(_) => "bond",
        Kind::Vlan(_) => "vlan",
        Kind::Bridge(_) => "bridge",
    };
    let mut values = vec![
        ("id".to_owned(), id(interface).to_owned()),
        ("uuid".to_owned(), uuid(&interface.name).to_string()),
        ("type".to_owned(), kind.to_owned()),
        ("autoconnect".to_owned(), "true".to_owned()),
        ("autoconnect-priority".to_owned(), "1".to_owned()),
    ];
    let has_card = network.cards.iter().any(|card| card.name == interface.name);
    if interface.name.is_empty() {
        // An address is for one card, all else for every card.
        let has_address = !interface.ipv4.addresses.is_empty() || !interface.ipv6.addresses.is_empty();
        let connects = if has_address { "1" } else { "3" };
        values.push(("multi-connect".to_owned(), connects.to_owned()));
    } else if interface.kind != Kind::Ethernet || !has_card {
        // The kernel's name of a card on another system is found by its address.
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

fn bond_options(bond: &Bond, name_of: impl Fn(&str) -> String) -> BTreeMap<String, String> {
    let mode: &'static str = bond.mode.into();
    let policy = bond.xmit_hash_policy.map(<&'static str>::from);
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let options = [
        ("mode", Some(mode.to_owned())),
        ("miimon", number(bond.miimon)),
        ("updelay", number(bond.updelay)),
        ("downdelay", number(bond.downdelay)),
        ("primary", bond.primary.as_deref().map(&name_of)),
        ("lacp_rate", bond.lacp_fast.then(|| "fast".to_owned())),
        ("xmit_hash_policy", policy.map(str::to_owned)),
    ];
    let said = options
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let others = bond.options.iter().map(|(key, value)| {
        let value = match key.as_str() {
            "active_slave" => name_of(value),
            // NetworkManager accepts only numbers for it.
            "all_slaves_active" => u8::from(value == "delivered").to_string(),
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    said.chain(others).collect()
}

fn family(network: &StaticNetwork, interface: &Interface, v6: bool) -> Vec<(String, String)> {
    let said: &Addressing = if v6 { &interface.ipv6 } else { &interface.ipv4 };
    let automatic = if v6 && !said.autoconf { "dhcp" } else { "auto" };
    let method = match (said.is_automatic(), said.addresses.is_empty()) {
        (true, _) => automatic,
        (false, true) if said.link_local => "link-local",
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
    // The machine's name servers, which NetworkManager queries before those of a lease.
    if !said.is_off() && !servers.is_empty() {
        set("dns".to_owned(), format!("{};", servers.join(";")));
    }
    if !said.is_off() && !network.search.is_empty() {
        set("dns-search".to_owned(), format!("{};", network.search.join(";")));
    }
    if said.own_name_servers_alone {
        set("ignore-auto-dns".to_owned(), "true".to_owned());
    }
    if let Some(metric) = said.metric {
        set("route-metric".to_owned(), metric.to_string());
    }
    values
}

/// `NETWORK/PREFIX,GATEWAY,METRIC` without trailing parts that are not set.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_sections_in_order() {
        let bridge = Interface {
            name: "br0".into(),
            kind: Kind::Bridge(super::super::Bridge::default()),
            ..Interface::default()
        };
        let network = StaticNetwork {
            interfaces: vec![bridge],
            ..StaticNetwork::default()
        };
        let file = keyfiles(&network, &BTreeMap::new()).next().unwrap();
        assert_eq!(file.name, "br0.nmconnection");
        assert_eq!(
            file.to_string(),
            format!(
                "[connection]\nid=br0\nuuid={}\ntype=bridge\nautoconnect=true\nautoconnect-priority=1\ninterface-name=br0\n\n\
                 [bridge]\nstp=false\n\n[ipv4]\nmethod=disabled\n\n[ipv6]\nmethod=disabled\n\n",
                uuid("br0")
            )
        );
    }
}
