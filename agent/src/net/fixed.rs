//! The static network of this machine: which one of the image's is its own, and what each of its interfaces has of it.
//! Does no I/O.

use muster_api::live::network::{Interface, Kind, StaticNetwork};

use super::configuration::{Configuration, Route, covers};
use super::links::Link;

/// The network that names a card of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed(pub StaticNetwork);

/// The leases, addresses and routes that an interface is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub dhcp4: bool,
    pub dhcp6: bool,
    /// Name servers and the like are asked for, without an address.
    pub stateless6: bool,
    /// Router advertisements are taken; `None`: as the kernel has it.
    pub advertisements: Option<bool>,
    pub configuration: Option<Configuration>,
}

impl Wanted {
    /// Of an interface of which no configuration speaks.
    pub fn automatic(link: &Link) -> Self {
        Self {
            dhcp4: true,
            dhcp6: link.managed,
            stateless6: link.informed && !link.managed,
            advertisements: None,
            configuration: None,
        }
    }

    /// Of a port of a bond or a bridge, which has no addresses.
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
    /// The first network that names one of these addresses of cards, or none at all: such a one is said by kernel arguments.
    pub fn choose<'a>(
        networks: &[StaticNetwork],
        macs: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<Self> {
        let is_own = |network: &&StaticNetwork| {
            let mut cards = network.cards.iter();
            network.cards.is_empty()
                || cards.any(|card| macs.clone().any(|mac| mac.eq_ignore_ascii_case(&card.mac)))
        };
        networks.iter().find(is_own).cloned().map(Self)
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

    /// The VLANs whose frames have a tag on the card that the configuration calls so, or on a bond or bridge over it.
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

    /// Finds the part for `link`. `own`: the configuration's name of it.
    pub fn wanted(&self, own: &str, link: &Link) -> Wanted {
        let is_port = |one: &Interface| one.kind.ports().iter().any(|port| port == own);
        if self.0.interfaces.iter().any(is_port) {
            return Wanted::port();
        }
        let Some(interface) = self.0.interfaces.iter().find(|one| one.name == own) else {
            return Wanted::automatic(link);
        };
        let configuration = self.configuration(interface);
        Wanted {
            dhcp4: interface.ipv4.dhcp,
            dhcp6: interface.ipv6.dhcp || (interface.ipv6.autoconf && link.managed),
            stateless6: !interface.ipv6.dhcp && interface.ipv6.autoconf && link.informed && !link.managed,
            advertisements: Some(interface.ipv6.autoconf),
            configuration: (configuration != Configuration::default()).then_some(configuration),
        }
    }

    fn configuration(&self, interface: &Interface) -> Configuration {
        let addresses = interface.ipv4.addresses.iter().chain(&interface.ipv6.addresses);
        let addresses: Vec<_> = addresses.map(|one| (one.ip, one.prefix)).collect();
        let routes = self
            .0
            .routes
            .iter()
            .filter(|route| route.interface == interface.name);
        let routes = routes.map(|route| Route {
            destination: (route.destination.ip, route.destination.prefix),
            gateway: route.gateway,
            onlink: route.gateway.is_some_and(|gateway| {
                gateway.is_ipv4() && !addresses.iter().any(|&(ip, prefix)| covers(ip, prefix, gateway))
            }),
            metric: route.metric,
        });
        // Of the whole machine; each is asked once.
        let (name_servers, search) = match addresses.is_empty() {
            true => (Vec::new(), Vec::new()),
            false => (self.0.name_servers.clone(), self.0.search.clone()),
        };
        Configuration {
            routes: routes.collect(),
            name_servers,
            search,
            mtu: interface.mtu,
            addresses,
            ..Configuration::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::live::network::{Address, Addressing, Bond, Card, Route as SaidRoute, Vlan};

    use super::*;

    fn address(text: &str) -> Address {
        let (ip, prefix) = text.split_once('/').unwrap();
        Address {
            ip: ip.parse().unwrap(),
            prefix: prefix.parse().unwrap(),
        }
    }

    fn network() -> StaticNetwork {
        let named = |name: &str, kind| Interface {
            name: name.into(),
            kind,
            ..Interface::default()
        };
        let bond = Bond {
            ports: vec!["one".into(), "two".into()],
            ..Bond::default()
        };
        let vlan = Vlan {
            base: "bond0".into(),
            id: 100,
        };
        StaticNetwork {
            cards: vec![Card {
                mac: "52:54:00:aa:bb:01".into(),
                name: "one".into(),
            }],
            interfaces: vec![
                named("one", Kind::Ethernet),
                named("two", Kind::Ethernet),
                named("bond0", Kind::Bond(bond)),
                Interface {
                    ipv4: Addressing {
                        addresses: vec![address("10.93.0.5/24")],
                        ..Addressing::default()
                    },
                    mtu: Some(1400),
                    ..named("bond0.100", Kind::Vlan(vlan))
                },
            ],
            routes: vec![SaidRoute {
                destination: address("0.0.0.0/0"),
                gateway: Some("10.93.0.1".parse().unwrap()),
                interface: "bond0.100".into(),
                metric: None,
            }],
            name_servers: vec!["10.93.0.1".parse().unwrap()],
            search: vec![],
        }
    }

    fn link(index: u32) -> Link {
        Link {
            index,
            name: format!("link{index}"),
            mac: vec![0; 6],
            wired: true,
            controller: None,
            loopback: false,
            up: true,
            carrier: true,
            managed: true,
            informed: false,
        }
    }

    #[test]
    fn a_machine_takes_the_network_that_names_one_of_its_cards() {
        let networks = [StaticNetwork::default(), network()];
        let own = ["52:54:00:AA:BB:01", "52:54:00:00:00:00"];
        assert_eq!(
            Fixed::choose(&networks[1..], own.into_iter()),
            Some(Fixed(network()))
        );
        assert_eq!(
            Fixed::choose(&networks[1..], ["52:54:00:aa:bb:02"].into_iter()),
            None
        );
        assert_eq!(
            Fixed::choose(&networks, own.into_iter()),
            Some(Fixed(StaticNetwork::default())),
            "one without cards is for every machine"
        );
    }

    #[test]
    fn the_vlans_of_a_card_are_those_of_its_bond_too() {
        let fixed = Fixed(network());
        assert_eq!(fixed.vlans_on("one"), [100]);
        assert!(fixed.vlans_on("other").is_empty());
    }

    #[test]
    fn a_vlan_on_a_bond_has_the_address_and_its_ports_have_none() {
        let fixed = Fixed(network());
        assert_eq!(fixed.wanted("two", &link(3)), Wanted::port());
        let bond = fixed.wanted("bond0", &link(4));
        assert_eq!((bond.dhcp4, bond.dhcp6, bond.configuration), (false, false, None));
        let vlan = fixed.wanted("bond0.100", &link(5)).configuration.unwrap();
        assert_eq!(vlan.addresses, [("10.93.0.5".parse().unwrap(), 24)]);
        assert_eq!((vlan.routes[0].metric, vlan.routes[0].onlink), (None, false));
        assert_eq!(vlan.mtu, Some(1400));
        assert_eq!(fixed.wanted("other", &link(6)), Wanted::automatic(&link(6)));
    }
}
