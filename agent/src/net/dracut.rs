//! Reads the network from kernel arguments, for a machine that is booted where no service could tell it: `ip=`, `vlan=`,
//! `bond=`, `bridge=`, `ifname=`, `nameserver=` and `rd.route=` as dracut.cmdline(7) has them.

use std::net::{IpAddr, Ipv4Addr};

use muster_api::live::network::{
    Address, Addressing, Bond, Bridge, Card, Interface, Kind, Route, StaticNetwork, Vlan,
};

use crate::config::live::KernelArguments;

/// Ports and options of `bond=` without any.
const BOND: (&str, &str) = ("bond0", "eth0,eth1");

/// The network that the arguments say; `None`: they say none. What is wrong is in the list, argument and reason, and the rest holds.
pub fn network(arguments: &KernelArguments) -> (Option<StaticNetwork>, Vec<String>) {
    let mut network = StaticNetwork::default();
    let mut wrong = Vec::new();
    let mut read = |key: &str, take: fn(&mut StaticNetwork, &str) -> Option<()>| {
        for value in arguments.values(key) {
            if take(&mut network, value).is_none() {
                wrong.push(format!("{key}={value} is not understood"));
            }
        }
    };
    read("ifname", ifname);
    read("bond", bond);
    read("vlan", vlan);
    read("bridge", bridge);
    read("ip", ip);
    read("nameserver", |network, value| {
        network.name_servers.push(unbracketed(value).parse().ok()?);
        Some(())
    });
    read("rd.route", route);
    let said = !network.interfaces.is_empty();
    (said.then_some(network), wrong)
}

/// The interface of that name, which is a card if nothing else made it.
fn interface<'a>(network: &'a mut StaticNetwork, name: &str) -> &'a mut Interface {
    let place = network.interfaces.iter().position(|one| one.name == name);
    let place = place.unwrap_or_else(|| {
        // A name such as 52-54-00-12-34-56 is a card's address.
        let mac = name.replace('-', ":").to_ascii_lowercase();
        if name.len() == 17 && name.split('-').count() == 6 {
            network.cards.push(Card {
                mac,
                name: name.to_owned(),
            });
        }
        network.interfaces.push(Interface {
            name: name.to_owned(),
            ..Interface::default()
        });
        network.interfaces.len() - 1
    });
    &mut network.interfaces[place]
}

fn device(network: &mut StaticNetwork, name: &str, kind: Kind) {
    for part in kind.parts().to_vec() {
        interface(network, &part);
    }
    interface(network, name).kind = kind;
}

/// `ifname=NAME:MAC`
fn ifname(network: &mut StaticNetwork, value: &str) -> Option<()> {
    let (name, mac) = value.split_once(':')?;
    (mac.len() == 17).then_some(())?;
    network.cards.push(Card {
        mac: mac.to_ascii_lowercase(),
        name: name.to_owned(),
    });
    Some(())
}

/// `bond=NAME[:PORT,PORT[:OPTION=VALUE,...[:MTU]]]`
fn bond(network: &mut StaticNetwork, value: &str) -> Option<()> {
    let mut parts = value.splitn(4, ':');
    let name = parts.next().filter(|name| !name.is_empty()).unwrap_or(BOND.0);
    let ports = parts.next().filter(|ports| !ports.is_empty()).unwrap_or(BOND.1);
    let mut bond = Bond {
        ports: list(ports),
        ..Bond::default()
    };
    for option in parts
        .next()
        .unwrap_or_default()
        .split(',')
        .filter(|one| !one.is_empty())
    {
        let (option, value) = option.split_once('=')?;
        match option {
            "mode" => bond.mode = value.parse().ok()?,
            "miimon" => bond.miimon = Some(value.parse().ok()?),
            "updelay" => bond.updelay = Some(value.parse().ok()?),
            "downdelay" => bond.downdelay = Some(value.parse().ok()?),
            "primary" => bond.primary = Some(value.to_owned()),
            "xmit_hash_policy" => bond.xmit_hash_policy = Some(value.parse().ok()?),
            "lacp_rate" => bond.lacp_fast = matches!(value, "fast" | "1"),
            _ => return None,
        }
    }
    device(network, name, Kind::Bond(bond));
    if let Some(mtu) = parts.next() {
        interface(network, name).mtu = Some(mtu.parse().ok()?);
    }
    Some(())
}

/// `vlan=NAME:BASE`; the name ends with the VLAN: `vlan5`, `vlan0005`, `eth0.5`, `eth0.0005`.
fn vlan(network: &mut StaticNetwork, value: &str) -> Option<()> {
    let (name, base) = value.split_once(':')?;
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let vlan = Vlan {
        base: base.to_owned(),
        id: name[digits..].parse().ok()?,
    };
    device(network, name, Kind::Vlan(vlan));
    Some(())
}

/// `bridge=NAME:PORT,PORT`
fn bridge(network: &mut StaticNetwork, value: &str) -> Option<()> {
    let (name, ports) = value.split_once(':')?;
    let bridge = Bridge {
        ports: list(ports),
        stp: false,
    };
    device(network, name, Kind::Bridge(bridge));
    Some(())
}

/// `ip=AUTO`, `ip=INTERFACE:AUTO[:MTU]` or `ip=CLIENT:[PEER]:[GATEWAY]:NETMASK:[HOSTNAME]:INTERFACE:AUTO[:MTU|:DNS[:DNS]]`.
fn ip(network: &mut StaticNetwork, value: &str) -> Option<()> {
    let fields = fields(value);
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    match fields.len() {
        // By itself, as everything is that nothing is said of.
        1 => auto(field(0)).map(drop),
        2..=4 => {
            let (ipv4, ipv6) = auto(field(1))?;
            let mtu = (!field(2).is_empty())
                .then(|| field(2).parse())
                .transpose()
                .ok()?;
            let one = interface(network, field(0));
            (one.ipv4, one.ipv6, one.mtu) = (ipv4, ipv6, mtu.or(one.mtu));
            Some(())
        }
        _ => {
            let name = Some(field(5)).filter(|name| !name.is_empty())?.to_owned();
            let address = unbracketed(field(0));
            let (mut ipv4, mut ipv6) = match field(6) {
                "" => (Addressing::default(), Addressing::default()),
                said => auto(said)?,
            };
            if !address.is_empty() {
                let ip: IpAddr = address.parse().ok()?;
                let family = if ip.is_ipv6() { &mut ipv6 } else { &mut ipv4 };
                family.addresses.push(Address {
                    ip,
                    prefix: prefix(field(3))?,
                });
            }
            let one = interface(network, &name);
            (one.ipv4, one.ipv6) = (ipv4, ipv6);
            for said in [field(7), field(8)]
                .map(unbracketed)
                .into_iter()
                .filter(|one| !one.is_empty())
            {
                match said.parse::<IpAddr>() {
                    Ok(server) => network.name_servers.push(server),
                    // The address of the card may follow, which changes nothing here.
                    Err(_) => interface(network, &name).mtu = said.parse().ok(),
                }
            }
            let gateway = unbracketed(field(2));
            if !gateway.is_empty() {
                default_route(network, gateway.parse().ok()?, &name);
            }
            Some(())
        }
    }
}

fn default_route(network: &mut StaticNetwork, gateway: IpAddr, name: &str) {
    let ip = match gateway {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    };
    network.routes.push(Route {
        destination: Address { ip, prefix: 0 },
        gateway: Some(gateway),
        interface: name.to_owned(),
        metric: None,
    });
}

/// `rd.route=NETWORK/PREFIX:GATEWAY[:INTERFACE]`; without an interface it is the one that has an address.
fn route(network: &mut StaticNetwork, value: &str) -> Option<()> {
    let fields = fields(value);
    let (ip, length) = fields.first()?.rsplit_once('/')?;
    let destination = Address {
        ip: unbracketed(ip).parse().ok()?,
        prefix: length.parse().ok()?,
    };
    let gateway = fields
        .get(1)
        .map(|gateway| unbracketed(gateway))
        .filter(|gateway| !gateway.is_empty());
    let with_address = || {
        let mut all = network.interfaces.iter();
        all.find(|one| !one.ipv4.addresses.is_empty() || !one.ipv6.addresses.is_empty())
            .map(|one| one.name.clone())
    };
    let interface = match fields.get(2).filter(|name| !name.is_empty()) {
        Some(name) => (*name).to_owned(),
        None => with_address()?,
    };
    network.routes.push(Route {
        destination,
        gateway: gateway.map(str::parse).transpose().ok()?,
        interface,
        metric: None,
    });
    Some(())
}

/// Understands a word of `ip=` for IPv4 and IPv6.
fn auto(word: &str) -> Option<(Addressing, Addressing)> {
    let by = |dhcp, autoconf| Addressing {
        dhcp,
        autoconf,
        addresses: Vec::new(),
    };
    let none = Addressing::default;
    Some(match word {
        "dhcp" | "on" | "any" => (by(true, false), by(word != "dhcp", word != "dhcp")),
        "dhcp4" => (by(true, false), none()),
        "dhcp6" => (none(), by(true, false)),
        "auto6" | "either6" | "auto" => (none(), by(word != "auto6", true)),
        "none" | "off" | "link-local" => (none(), none()),
        _ => return None,
    })
}

/// Parts between colons; those in brackets are one.
fn fields(value: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let parts = value.split(|c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ':' && depth == 0
    });
    parts.collect()
}

fn unbracketed(text: &str) -> &str {
    text.trim_start_matches('[').trim_end_matches(']')
}

/// The length of a prefix, said as such or as a mask.
fn prefix(text: &str) -> Option<u8> {
    if let Ok(mask) = text.parse::<Ipv4Addr>() {
        return ipnet::ipv4_mask_to_prefix(mask).ok();
    }
    text.parse().ok()
}

fn list(text: &str) -> Vec<String> {
    text.split(',')
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Option<StaticNetwork>, Vec<String>) {
        network(&KernelArguments::parse(line))
    }

    fn good(line: &str) -> StaticNetwork {
        let (network, wrong) = read(line);
        assert_eq!(wrong, Vec::<String>::new());
        network.unwrap()
    }

    #[test]
    fn nothing_is_said_by_other_arguments_and_by_plain_dhcp() {
        assert_eq!(read("quiet console=ttyS0 ip=dhcp nameserver=192.0.2.1").0, None);
    }

    #[test]
    fn an_address_with_mask_gateway_and_name_servers() {
        let network = good(
            "ip=192.0.2.5::192.0.2.1:255.255.255.0:host:ens3:none:192.0.2.53:192.0.2.54 nameserver=192.0.2.55",
        );
        let card = &network.interfaces[0];
        assert_eq!((card.name.as_str(), card.ipv4.dhcp), ("ens3", false));
        assert_eq!(card.ipv4.addresses[0].to_string(), "192.0.2.5/24");
        assert_eq!(network.routes[0].gateway, Some("192.0.2.1".parse().unwrap()));
        let servers: Vec<String> = network.name_servers.iter().map(IpAddr::to_string).collect();
        assert_eq!(servers, ["192.0.2.53", "192.0.2.54", "192.0.2.55"]);
    }

    #[test]
    fn addresses_of_ipv6_are_in_brackets() {
        let network =
            good("ip=[2001:db8::5]::[2001:db8::1]:64::ens3:none rd.route=[2001:db8:9::]/48:[2001:db8::2]");
        let address = &network.interfaces[0].ipv6.addresses[0];
        assert_eq!(address.to_string(), "2001:db8::5/64");
        assert_eq!(network.routes[1].destination.prefix, 48);
        assert_eq!(network.routes[1].interface, "ens3");
    }

    #[test]
    fn a_vlan_on_a_bond_by_lacp() {
        let network = good(
            "ip=10.93.0.5::10.93.0.1:24::bond0.100:none bond=bond0:ens3,ens4:mode=802.3ad,miimon=50,lacp_rate=fast:9000 vlan=bond0.100:bond0",
        );
        let names: Vec<&str> = network.interfaces.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            ["ens3", "ens4", "bond0", "bond0.100"],
            "each after its parts"
        );
        let Kind::Bond(bond) = &network.interfaces[2].kind else {
            panic!("{:?}", network.interfaces[2])
        };
        assert_eq!(
            (bond.mode, bond.miimon, bond.lacp_fast),
            ("802.3ad".parse().unwrap(), Some(50), true)
        );
        assert_eq!(network.interfaces[2].mtu, Some(9000));
        assert!(matches!(&network.interfaces[3].kind, Kind::Vlan(vlan) if vlan.id == 100));
    }

    #[test]
    fn cards_may_be_named_by_their_address() {
        let network = good("ifname=net0:52:54:00:AA:00:01 ip=net0:dhcp ip=52-54-00-aa-00-02:auto6");
        let cards: Vec<&str> = network.cards.iter().map(|card| card.mac.as_str()).collect();
        assert_eq!(cards, ["52:54:00:aa:00:01", "52:54:00:aa:00:02"]);
        assert!(network.interfaces[0].ipv4.dhcp && network.interfaces[1].ipv6.autoconf);
    }

    #[test]
    fn what_is_not_understood_is_named_and_the_rest_holds() {
        let (network, wrong) = read("ip=ens3:dhcp ip=192.0.2.5::192.0.2.1:24::ens4:sometimes vlan=five:ens3");
        assert_eq!(network.unwrap().interfaces.len(), 1);
        assert_eq!(wrong.len(), 2);
        assert!(
            wrong[1].contains("sometimes") || wrong[0].contains("five"),
            "{wrong:?}"
        );
    }
}
