//! The static network of this machine: which one of the image's is its own, and the settings of each of its interfaces.
//! Does no I/O.

use std::net::IpAddr;
use std::sync::OnceLock;

use muster_api::live::network::{Addressing, Interface, Kind, StaticNetwork};

use super::configuration::{Configuration, Route, covers};
use super::dracut::BOOT_CARD;
use super::links::Link;

/// The network that names a card of this machine; and the index of the card with the address that is for any one card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed(pub StaticNetwork, OnceLock<u32>);

/// The leases, addresses and routes that an interface is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub dhcp4: bool,
    pub dhcp6: bool,
    /// Name servers and the like are requested, without an address.
    pub stateless6: bool,
    /// Router advertisements are taken; `None`: as the kernel has it.
    pub advertisements: Option<bool>,
    pub configuration: Option<Configuration>,
}

impl Wanted {
    /// For an interface without a configuration.
    pub fn automatic(link: &Link) -> Self {
        Self {
            dhcp4: true,
            dhcp6: link.managed,
            stateless6: link.informed && !link.managed,
            advertisements: None,
            configuration: None,
        }
    }

    /// For a port of a bond or a bridge, which has no addresses.
    fn port() -> Self {
        Self {
            dhcp4: false,
            dhcp6: false,
            stateless6: false,
            advertisements: Some(false),
            configuration: None,
        }
    }
}

impl Fixed {
    pub fn new(network: StaticNetwork) -> Self {
        Self(network, OnceLock::new())
    }

    /// The network of this machine: that of the kernel arguments, if they name an interface or switch something off, else
    /// that of the image for one of these addresses of cards, with the name servers and the host name of the arguments.
    pub fn of_machine<'a>(
        said: Option<&StaticNetwork>,
        networks: &[StaticNetwork],
        macs: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<Self> {
        let Some(said) = said else {
            return Self::choose(networks, macs);
        };
        if networks.is_empty() || says_where_addresses_come_from(said) {
            return Some(Self::new(said.clone()));
        }
        let mut chosen = Self::choose(networks, macs)?;
        let servers = chosen.0.name_servers.clone();
        chosen.0.name_servers = said.name_servers.iter().copied().chain(servers).collect();
        chosen.0.hostname.clone_from(&said.hostname);
        Some(chosen)
    }

    /// The first network that names one of these addresses of cards, or none at all: a network of kernel arguments names none.
    pub fn choose<'a>(
        networks: &[StaticNetwork],
        macs: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<Self> {
        let is_own = |network: &&StaticNetwork| {
            let mut cards = network.cards.iter();
            network.cards.is_empty()
                || cards.any(|card| macs.clone().any(|mac| mac.eq_ignore_ascii_case(&card.mac)))
        };
        networks.iter().find(is_own).cloned().map(Self::new)
    }

    /// The address of the card that the configuration knows by this name.
    pub fn card(&self, name: &str) -> Option<&str> {
        let mut cards = self.0.cards.iter();
        cards.find(|card| card.name == name).map(|card| card.mac.as_str())
    }

    /// The devices that are made of others, each after its parts.
    pub fn devices(&self) -> impl Iterator<Item = &Interface> {
        self.0.interfaces.iter().filter(|one| one.kind != Kind::Ethernet)
    }

    /// The VLANs with tagged frames on the card that the configuration calls so, or on a bond or bridge over it.
    pub fn vlans_on(&self, card: &str) -> Vec<u16> {
        let mut over = vec![card];
        let mut vlans = Vec::new();
        for device in self.devices() {
            match &device.kind {
                Kind::Vlan(vlan) if over.contains(&vlan.base.as_str()) => vlans.push(vlan.id),
                kind if kind.ports().iter().any(|port| over.contains(&port.as_str())) => {
                    over.push(&device.name)
                }
                _ => {}
            }
        }
        vlans
    }

    /// Finds the part for `link`. `own`: the configuration's name of it. `present`: its addresses from any source.
    pub fn wanted(&self, own: &str, link: &Link, present: &[(IpAddr, u8)]) -> Wanted {
        let own = self.named(own, link);
        let is_port = |one: &Interface| one.kind.ports().iter().any(|port| port == own);
        if self.0.interfaces.iter().any(is_port) {
            return Wanted::port();
        }
        let Some(interface) = self.interface(own, link) else {
            let configuration = self.of_machine_alone();
            return Wanted {
                configuration: (configuration != Configuration::default()).then_some(configuration),
                ..Wanted::automatic(link)
            };
        };
        let configuration = self.configuration(interface, present);
        Wanted {
            dhcp4: interface.ipv4.dhcp,
            dhcp6: interface.ipv6.dhcp || (interface.ipv6.autoconf && link.managed),
            stateless6: !interface.ipv6.dhcp && interface.ipv6.autoconf && link.informed && !link.managed,
            advertisements: Some(interface.ipv6.autoconf),
            configuration: (configuration != Configuration::default()).then_some(configuration),
        }
    }

    /// The addressing of a family (`v6`) of the link in the configuration, except for that of a port.
    pub fn addressing(&self, own: &str, link: &Link, v6: bool) -> Option<&Addressing> {
        let interface = self.interface(self.named(own, link), link)?;
        Some(if v6 { &interface.ipv6 } else { &interface.ipv4 })
    }

    /// The configuration of the link, also of a port.
    pub fn said_of(&self, own: &str, link: &Link) -> Option<&Interface> {
        self.interface(self.named(own, link), link)
    }

    /// The name of the link in the configuration: the boot card's counts unless its own is there, too.
    fn named<'a>(&self, own: &'a str, link: &'a Link) -> &'a str {
        let is_said = |name: &str| self.0.interfaces.iter().any(|one| one.name == name);
        if own == BOOT_CARD && is_said(&link.name) {
            &link.name
        } else {
            own
        }
    }

    fn interface(&self, own: &str, link: &Link) -> Option<&Interface> {
        let named = self.0.interfaces.iter().find(|one| one.name == own);
        named.or_else(|| {
            self.0
                .others
                .as_ref()
                .filter(|others| self.has_others(others, link))
        })
    }

    /// An address for any card belongs to the first one that has a carrier, and stays with it.
    fn has_others(&self, others: &Interface, link: &Link) -> bool {
        if others.ipv4.addresses.is_empty() && others.ipv6.addresses.is_empty() {
            return true;
        }
        let first = || link.carrier.then(|| *self.1.get_or_init(|| link.index));
        self.1.get().copied().or_else(first) == Some(link.index)
    }

    /// The settings of the machine and not of an interface; the resolver queries each server once.
    fn of_machine_alone(&self) -> Configuration {
        Configuration {
            name_servers: self.0.name_servers.clone(),
            search: self.0.search.clone(),
            hostname: self.0.hostname.clone(),
            ..Configuration::default()
        }
    }

    fn configuration(&self, interface: &Interface, present: &[(IpAddr, u8)]) -> Configuration {
        let addresses = interface.ipv4.addresses.iter().chain(&interface.ipv6.addresses);
        let addresses: Vec<_> = addresses.map(|one| (one.ip, one.prefix)).collect();
        let covered = |all: &[(IpAddr, u8)], gateway| {
            all.iter()
                .any(|&(ip, prefix)| ip.is_ipv4() == IpAddr::is_ipv4(&gateway) && covers(ip, prefix, gateway))
        };
        let family = |v6: bool| if v6 { &interface.ipv6 } else { &interface.ipv4 };
        let routes = self.0.routes.iter().filter(|route| {
            // Among cards that no argument names, it goes through the one that has the gateway in its network.
            let through = |gateway| covered(&addresses, gateway) || covered(present, gateway);
            route.interface == interface.name
                && (!interface.name.is_empty()
                    || !family(route.destination.ip.is_ipv6()).is_automatic()
                    || route.gateway.is_none_or(through))
        });
        let routes = routes.map(|route| Route {
            destination: (route.destination.ip, route.destination.prefix),
            gateway: route.gateway,
            onlink: route
                .gateway
                .is_some_and(|gateway| gateway.is_ipv4() && !covered(&addresses, gateway)),
            metric: route
                .metric
                .or_else(|| family(route.destination.ip.is_ipv6()).metric),
        });
        let is_off = interface.ipv4.is_off() && interface.ipv6.is_off();
        let common = if is_off {
            Configuration::default()
        } else {
            self.of_machine_alone()
        };
        Configuration {
            routes: routes.collect(),
            mtu: interface.mtu,
            addresses,
            ..common
        }
    }
}

/// False for name servers and the like only, which leave everything else as it would be.
fn says_where_addresses_come_from(said: &StaticNetwork) -> bool {
    let (ipv4, ipv6) = Addressing::automatic();
    let differs = |others: &Interface| others.ipv4 != ipv4 || others.ipv6 != ipv6 || others.mtu.is_some();
    !said.interfaces.is_empty() || !said.routes.is_empty() || said.others.as_ref().is_some_and(differs)
}

#[cfg(test)]
mod tests;
