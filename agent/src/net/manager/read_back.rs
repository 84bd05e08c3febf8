//! Compares the interfaces as the kernel has them with the static network. Does no I/O.

mod addresses;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use muster_api::live::network::{Bond, Interface, Kind};

pub(super) use addresses::lost_routes;

use crate::inventory::netlink::Route as PresentRoute;
use crate::net::configuration::Configuration;
use crate::net::fixed::Fixed;
use crate::net::links::{Address, Link, Shape, mac_text};
use crate::net::{bonds, devices};
use crate::view::problem::Problem;

/// After this long a missing link or address is shown on the console.
pub(super) const SETTLED: Duration = Duration::from_secs(12);

/// An address server has responded by then, and a switch that searches for loops first has opened its port.
const ANSWERED: Duration = Duration::from_secs(60);

/// A difference, and how long it must persist before it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub problem: Problem,
    pub patience: Duration,
}

/// The state of the machine.
pub(super) struct Present<'a> {
    pub links: &'a [Link],
    pub addresses: &'a [Address],
    pub routes: &'a [PresentRoute],
    /// The servers that the resolver queries.
    pub name_servers: &'a [IpAddr],
    /// The value of an option of a bond; `None`: this kernel has no such option.
    pub option: &'a dyn Fn(&str, &str) -> Option<String>,
}

/// An interface of the static network.
pub(super) struct Planned<'a> {
    pub interface: &'a Interface,
    /// Its link.
    pub link: Option<&'a Link>,
    /// The links of its parts, in their order.
    pub parts: Vec<Option<&'a Link>>,
    /// Its addresses, name servers, and routes with their metric.
    pub configuration: Option<Configuration>,
    /// The reason why it is missing, or differs from its configuration, if the kernel gave one.
    pub why: &'a str,
}

/// The differences of an interface, missing parts first.
pub(super) fn differences(fixed: &Fixed, planned: &Planned<'_>, present: &Present<'_>) -> Vec<Difference> {
    let mut found = Found {
        name: &planned.interface.name,
        differences: Vec::new(),
    };
    let Some(link) = planned.link else {
        missing(&mut found, fixed, planned, present);
        return found.differences;
    };
    shape(&mut found, planned, link, present);
    properties(&mut found, fixed, planned, link);
    if let Some(configuration) = &planned.configuration {
        addresses::compare(&mut found, configuration, link, present);
    }
    automatic(&mut found, fixed, planned, link, present);
    found.differences
}

struct Found<'a> {
    name: &'a str,
    differences: Vec<Difference>,
}

impl Found<'_> {
    fn add(&mut self, text: String, advice: impl Into<String>) {
        self.add_after(SETTLED, text, advice);
    }

    fn add_after(&mut self, patience: Duration, text: String, advice: impl Into<String>) {
        let problem = Problem::of(self.name, text, advice);
        self.differences.push(Difference { problem, patience });
    }

    fn compare(&mut self, what: &str, there: &str, wanted: &str) {
        if there != wanted {
            let there = if there.is_empty() { "none" } else { there };
            self.add(format!("its {what} is {there}, and {wanted} is configured"), "");
        }
    }
}

fn missing(found: &mut Found<'_>, fixed: &Fixed, planned: &Planned<'_>, present: &Present<'_>) {
    let name = &planned.interface.name;
    let (text, advice) = match &planned.interface.kind {
        Kind::Ethernet => {
            let cards = present.links.iter().filter(|link| is_card(link));
            let (what, cards): (String, Vec<String>) = match fixed.card(name) {
                Some(mac) => (
                    format!("no card of this machine has the address {mac}"),
                    cards.map(|card| mac_text(own_mac(card))).collect(),
                ),
                // It may be a device that nothing makes, too.
                None => (
                    "it is not there".to_owned(),
                    cards.map(|card| card.name.clone()).collect(),
                ),
            };
            let cards = list(&cards);
            (
                format!("the configuration names it, and {what} (cards are {cards})"),
                format!(
                    "{name} is named by the configuration and is not there: add it, or correct the configuration."
                ),
            )
        }
        Kind::Vlan(vlan) if planned.parts.iter().all(Option::is_none) => {
            let base = &vlan.base;
            (
                format!(
                    "it cannot be made: {base}, over which it lies, is named by the configuration and is not there"
                ),
                format!("Add {base}, or correct its name in the configuration of {name}."),
            )
        }
        _ => (
            format!("it is configured, and is not there: {}", planned.why),
            String::new(),
        ),
    };
    found.add(text, advice);
}

fn shape(found: &mut Found<'_>, planned: &Planned<'_>, link: &Link, present: &Present<'_>) {
    let kind = &planned.interface.kind;
    match kind {
        Kind::Ethernet => {}
        Kind::Bond(bond) => options(found, bond, planned, link, present),
        Kind::Bridge(bridge) => {
            if let Shape::Bridge { stp } = link.shape {
                let text = |stp: bool| if stp { "on" } else { "off" };
                found.compare("STP", text(stp), text(bridge.stp));
            }
        }
        Kind::Vlan(vlan) => {
            let over = planned.parts.first().copied().flatten().map(|base| base.index);
            if link.shape != Shape::Plain && !devices::can_become(link, kind, over) {
                found.add(
                    format!(
                        "it is another device, and VLAN {} over {} is configured",
                        vlan.id, vlan.base
                    ),
                    "",
                );
            }
        }
    }
    let ports = kind.ports();
    if ports.is_empty() {
        return;
    }
    // By the configuration's names, if it has one.
    let name_of = |port: &Link| {
        let mut parts = ports.iter().zip(&planned.parts);
        let known = parts.find(|(_, part)| part.is_some_and(|part| part.index == port.index));
        known.map_or_else(|| port.name.clone(), |(name, _)| name.clone())
    };
    let there = present
        .links
        .iter()
        .filter(|one| one.controller == Some(link.index));
    let there: BTreeSet<String> = there.map(name_of).collect();
    let wanted: BTreeSet<String> = ports.iter().cloned().collect();
    if there != wanted {
        let absent: Vec<String> = wanted.difference(&there).cloned().collect();
        let advice = match absent.as_slice() {
            [] => String::new(),
            absent => format!(
                "Have {} found by this machine, or correct the configuration.",
                list(absent)
            ),
        };
        found.add(
            format!(
                "its ports are {}, and {} are configured",
                list(&there),
                list(&wanted)
            ),
            advice,
        );
    }
}

fn options(found: &mut Found<'_>, bond: &Bond, planned: &Planned<'_>, link: &Link, present: &Present<'_>) {
    for (option, wanted) in bonds::wanted(bond) {
        match (present.option)(&link.name, option) {
            Some(there) => found.compare(option, &there, &wanted),
            None => found.add(
                format!("this kernel has no option {option}, and {wanted} is configured"),
                format!("Leave {option} out of the configuration of {}.", found.name),
            ),
        }
    }
    let Some(primary) = &bond.primary else { return };
    let mut parts = bond.ports.iter().zip(&planned.parts);
    // One that is missing is a difference of the ports.
    if let Some((_, Some(part))) = parts.find(|(name, _)| *name == primary) {
        let shown = (present.option)(&link.name, "primary").unwrap_or_default();
        if shown != part.name {
            found.compare("primary", &shown, primary);
        }
    }
}

fn properties(found: &mut Found<'_>, fixed: &Fixed, planned: &Planned<'_>, link: &Link) {
    let interface = planned.interface;
    let because = match planned.why {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    if let Some(wanted) = wanted_mtu(fixed, interface)
        && link.mtu != wanted
    {
        let base = planned.parts.first().copied().flatten();
        let base = base.filter(|base| matches!(interface.kind, Kind::Vlan(_)) && base.mtu < wanted);
        let (hint, advice) = match base {
            Some(base) => (
                format!(": {} below it has {}", base.name, base.mtu),
                format!("Configure an MTU of at least {wanted} for {}, too.", base.name),
            ),
            None => (because.clone(), String::new()),
        };
        let there = link.mtu;
        found.add(
            format!("its MTU is {there}, and {wanted} is configured{hint}"),
            advice,
        );
    }
    if let Some(wanted) = wanted_mac(fixed, interface)
        && link.mac != wanted
    {
        let (there, wanted) = (mac_text(&link.mac), mac_text(&wanted));
        found.add(
            format!("its MAC address is {there}, and {wanted} is configured{because}"),
            "",
        );
    }
}

/// The configured address of an interface; a port of a bond has the bond's.
pub(super) fn wanted_mac(fixed: &Fixed, interface: &Interface) -> Option<Vec<u8>> {
    let mac = interface.mac.as_deref().and_then(devices::bytes)?;
    (!in_bond(fixed, &interface.name)).then_some(mac)
}

/// The configured MTU of an interface; a port of a bond has the bond's.
pub(super) fn wanted_mtu(fixed: &Fixed, interface: &Interface) -> Option<u32> {
    let mtu = interface.mtu.map(u32::from)?;
    (!in_bond(fixed, &interface.name)).then_some(mtu)
}

/// True for a port of a bond, which gives its ports their MTU and address.
fn in_bond(fixed: &Fixed, name: &str) -> bool {
    let has = |kind: &Kind| matches!(kind, Kind::Bond(bond) if bond.ports.iter().any(|port| port == name));
    fixed.devices().any(|device| has(&device.kind))
}

/// An interface that should have addresses by DHCP or router advertisements, and has none at all: in a network with only one
/// family, a configuration for both is no fault.
fn automatic(
    found: &mut Found<'_>,
    fixed: &Fixed,
    planned: &Planned<'_>,
    link: &Link,
    present: &Present<'_>,
) {
    let (v4, v6) = (&planned.interface.ipv4, &planned.interface.ipv6);
    let wanted: Vec<&str> = [
        (v4.dhcp, "DHCP"),
        (v6.dhcp, "DHCPv6"),
        (v6.autoconf, "router advertisements"),
    ]
    .into_iter()
    .filter_map(|(wanted, by)| wanted.then_some(by))
    .collect();
    let is_port = |device: &Interface| device.kind.ports().contains(&planned.interface.name);
    let is_port = fixed.devices().any(is_port);
    let has = |one: &Address| one.index == link.index && one.global && one.usable;
    if wanted.is_empty() || is_port || present.addresses.iter().any(has) {
        return;
    }
    let advice = if link.carrier {
        format!("Check VLAN and DHCP of the network of {}.", link.name)
    } else {
        format!(
            "Connect a network cable to {}, or enable its switch port.",
            link.name
        )
    };
    found.add_after(
        ANSWERED,
        format!(
            "it has no address, and one by {} is configured",
            wanted.join(" or ")
        ),
        advice,
    );
}

fn is_card(link: &Link) -> bool {
    link.wired && link.shape == Shape::Plain
}

fn own_mac(link: &Link) -> &[u8] {
    link.own_mac.as_deref().unwrap_or(&link.mac)
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests;
