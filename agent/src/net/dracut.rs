//! Reads the network from kernel arguments, for a machine that is booted where no service could configure it: `ip=`, `vlan=`,
//! `bond=`, `bridge=`, `ifname=`, `nameserver=`, `rd.route=`, `bootdev=`, `BOOTIF=` and `rd.peerdns=` as the generator of
//! NetworkManager for an initramfs (1.42, 1.52) reads them. Where it differs: docs/live-image.md.

mod devices;
mod ip;
mod words;

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use muster_api::live::network::{Address, Addressing, Card, Interface, Kind, Route, StaticNetwork, by_parts};

use crate::config::live::KernelArguments;

/// Name of the card that the machine was booted through, where `ip=` names it so or names none.
pub const BOOT_CARD: &str = "BOOTIF";
/// Name of the settings for every card that no other argument names.
const OTHERS: &str = "";

/// The network in the arguments; `None`: they describe none. Arguments that do not count are in the list, each as
/// `ARGUMENT is not understood: REASON`, and the rest holds.
pub fn network(arguments: &KernelArguments) -> (Option<StaticNetwork>, Vec<String>) {
    let mut reader = Reader::default();
    for (key, value) in arguments.all() {
        reader.argument = value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"));
        reader.read(key, value.unwrap_or_default());
    }
    reader.finish()
}

/// A default route of one family, by interface.
type Gateways = BTreeMap<(String, bool), IpAddr>;

#[derive(Default)]
struct Reader<'a> {
    /// Interfaces are in the order in which arguments name them.
    network: StaticNetwork,
    not_understood: Vec<String>,
    /// The argument that is read.
    argument: String,
    /// Interfaces that an `ip=` is of.
    explicit: BTreeMap<String, ip::Families>,
    gateways: Gateways,
    bases: Vec<String>,
    teams: BTreeSet<String>,
    boot_mac: Option<String>,
    ignores_boot_mac: bool,
    boot_device: Option<&'a str>,
    /// Read when every interface is known.
    routes: Vec<&'a str>,
    name_servers: Vec<IpAddr>,
    own_name_servers_alone: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self, key: &str, value: &'a str) {
        match key {
            "ip" => self.ip(value),
            "bond" => self.bond(value),
            "bridge" => self.bridge(value),
            "team" => self.team(value),
            "vlan" => self.vlan(value),
            "ifname" => self.ifname(value),
            "nameserver" => match words::unbracketed(value).parse() {
                Ok(server) => self.name_servers.push(server),
                Err(_) => self.wrong(format!("{value:?} is no IP address")),
            },
            "rd.route" => self.routes.push(value),
            "rd.peerdns" => self.own_name_servers_alone = words::is_no(value),
            "rd.bootif" => self.ignores_boot_mac = words::is_no(value),
            "bootdev" => self.boot_device = self.named(value).map(|_| value),
            "rd.net.dhcp.vendor-class" => self.wrong("the live image's DHCP sends no vendor class"),
            "rd.ethtool" => self.wrong("speed and negotiation of cards are not set"),
            "rd.znet" => self.wrong("channel devices are not set up"),
            "ib.pkey" => self.wrong("InfiniBand is not supported"),
            "rd.iscsi.ibft" if !words::is_no(value) => self.wrong("the firmware's iBFT is not read"),
            _ if key.eq_ignore_ascii_case(BOOT_CARD) => match words::boot_mac(value) {
                Some(mac) => self.boot_mac = Some(mac),
                None => self.wrong("01-MAC is expected"),
            },
            _ => {}
        }
    }

    fn wrong(&mut self, reason: impl Into<String>) {
        let reason: String = reason.into();
        self.not_understood
            .push(format!("{} is not understood: {reason}", self.argument));
    }

    /// The interface of that name or MAC address, which is an automatic card if nothing else made it. An impossible name of an
    /// interface is reported.
    fn named(&mut self, name: &str) -> Option<&mut Interface> {
        let name = self.name_of(name)?;
        Some(self.interface(&name))
    }

    /// The name of the interface of that name or MAC address, without making one.
    fn name_of(&mut self, name: &str) -> Option<String> {
        let Some(mac) = words::mac(name) else {
            if !words::is_name(name) {
                self.wrong(format!("{name:?} is no name of an interface"));
                return None;
            }
            return Some(name.to_owned());
        };
        let name = mac.replace(':', "-");
        if self.network.cards.iter().all(|card| card.name != name) {
            self.network.cards.push(Card {
                mac,
                name: name.clone(),
            });
        }
        Some(name)
    }

    /// The interface of that name, whatever that is.
    fn interface(&mut self, name: &str) -> &mut Interface {
        let interfaces = &mut self.network.interfaces;
        let place = interfaces.iter().position(|one| one.name == name);
        let place = place.unwrap_or_else(|| {
            let (ipv4, ipv6) = Addressing::automatic();
            interfaces.push(Interface {
                name: name.to_owned(),
                ipv4,
                ipv6,
                ..Interface::default()
            });
            interfaces.len() - 1
        });
        &mut interfaces[place]
    }

    /// `ifname=NAME:MAC`
    fn ifname(&mut self, value: &str) {
        let read = value
            .split_once(':')
            .and_then(|(name, mac)| Some((name, words::mac(mac)?)));
        match read {
            Some((name, mac)) => self.network.cards.push(Card {
                mac,
                name: name.to_owned(),
            }),
            None => self.wrong("ifname=NAME:MAC is expected"),
        }
    }

    /// Evaluates everything that depends on all arguments.
    fn finish(mut self) -> (Option<StaticNetwork>, Vec<String>) {
        self.switch_bases_off();
        self.bind_boot_card();
        for route in std::mem::take(&mut self.routes) {
            self.argument = format!("rd.route={route}");
            self.route(route);
        }
        self.drop_teams();
        let mut network = self.network;
        let gateways = self.gateways.into_iter().map(|((interface, _), gateway)| Route {
            destination: default_destination(gateway),
            gateway: Some(gateway),
            interface,
            metric: None,
        });
        network.routes = gateways.chain(network.routes).collect();
        network.name_servers.extend(self.name_servers);
        if self.own_name_servers_alone {
            if network.interfaces.iter().all(|one| one.name != OTHERS) {
                let (ipv4, ipv6) = Addressing::automatic();
                network.interfaces.push(Interface {
                    ipv4,
                    ipv6,
                    ..Interface::default()
                });
            }
            for one in &mut network.interfaces {
                one.ipv4.own_name_servers_alone = one.ipv4.is_automatic();
                one.ipv6.own_name_servers_alone = one.ipv6.is_automatic();
            }
        }
        let others = network.interfaces.iter().position(|one| one.name == OTHERS);
        network.others = others.map(|place| network.interfaces.remove(place));
        match by_parts(network.interfaces.clone()) {
            Ok(ordered) => network.interfaces = ordered,
            Err(reason) => {
                network.interfaces.retain(|one| one.kind == Kind::Ethernet);
                self.not_understood
                    .push(format!("bond=, bridge= or vlan= is not understood: {reason}"));
            }
        }
        (says_something(&network).then_some(network), self.not_understood)
    }

    /// The base of a VLAN has no addresses of its own, unless an `ip=` gives it some.
    fn switch_bases_off(&mut self) {
        for base in std::mem::take(&mut self.bases) {
            if !self.explicit.contains_key(&base) {
                let one = self.interface(&base);
                (one.ipv4, one.ipv6) = (Addressing::default(), Addressing::default());
            }
        }
    }

    /// Gives settings that name no card to the card of `BOOTIF=`, if there is one.
    fn bind_boot_card(&mut self) {
        let mac = self.boot_mac.clone().filter(|_| !self.ignores_boot_mac);
        let is_wired = |one: &&Interface| one.kind == Kind::Ethernet;
        let first = self.network.interfaces.iter().find(is_wired);
        let is_first = first.is_some_and(|one| one.name == OTHERS);
        let is_bound = self.network.interfaces.iter().any(|one| one.name == BOOT_CARD);
        let others = self.network.interfaces.iter_mut().find(|one| one.name == OTHERS);
        if let Some(others) = others
            && mac.is_some()
            && !is_bound
            && (is_first || words::has_address(others))
        {
            BOOT_CARD.clone_into(&mut others.name);
            self.gateways = std::mem::take(&mut self.gateways)
                .into_iter()
                .map(|((name, v6), gateway)| match name.as_str() {
                    OTHERS => ((BOOT_CARD.to_owned(), v6), gateway),
                    _ => ((name, v6), gateway),
                })
                .collect();
        }
        if self.network.interfaces.iter().all(|one| one.name != BOOT_CARD) {
            return;
        }
        match mac {
            Some(mac) => self.network.cards.push(Card {
                mac,
                name: BOOT_CARD.to_owned(),
            }),
            None => {
                self.network.interfaces.retain(|one| one.name != BOOT_CARD);
                self.argument = "ip=...:BOOTIF:...".to_owned();
                self.wrong("there is no argument BOOTIF=01-MAC");
            }
        }
    }

    /// `rd.route=NETWORK[/PREFIX]:GATEWAY[:INTERFACE]`; without an interface that of `bootdev=`, then the first that is no port.
    fn route(&mut self, value: &str) {
        let words = words::split(value);
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let Some(destination) = words::network(word(0)) else {
            return self.wrong(format!("{:?} is no network", word(0)));
        };
        let gateway = match word(1) {
            "" => None,
            text => match text.parse::<IpAddr>() {
                Ok(gateway) if gateway.is_ipv6() == destination.ip.is_ipv6() => Some(gateway),
                _ => return self.wrong(format!("{text:?} is no gateway of the same family")),
            },
        };
        let interface = match (word(2), self.boot_device) {
            ("", None) => self.first_without_owner(),
            ("", Some(device)) => device.to_owned(),
            (name, _) => match self.named(name) {
                Some(interface) => interface.name.clone(),
                None => return,
            },
        };
        let route = Route {
            destination,
            gateway,
            interface,
            metric: None,
        };
        if !self.network.routes.contains(&route) {
            self.network.routes.push(route);
        }
    }

    fn first_without_owner(&mut self) -> String {
        let ports: Vec<&String> = self
            .network
            .interfaces
            .iter()
            .flat_map(|one| one.kind.ports())
            .collect();
        let mut all = self.network.interfaces.iter();
        match all.find(|one| !ports.contains(&&one.name)) {
            Some(one) => one.name.clone(),
            None => self.interface(OTHERS).name.clone(),
        }
    }
}

/// False if every card has the same as without arguments.
fn says_something(network: &StaticNetwork) -> bool {
    let (ipv4, ipv6) = Addressing::automatic();
    let plain = Interface {
        ipv4,
        ipv6,
        ..Interface::default()
    };
    !network.interfaces.is_empty()
        || network.others.as_ref().is_some_and(|others| *others != plain)
        || !network.routes.is_empty()
        || !network.name_servers.is_empty()
        || network.hostname.is_some()
}

fn default_destination(gateway: IpAddr) -> Address {
    let ip = match gateway {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    Address { ip, prefix: 0 }
}
