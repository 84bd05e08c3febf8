//! Lists the network cards of this host that checks send from. Source: docs/protocol/agent-protocol.md#7.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use muster_api::inventory::Interface;

use crate::inventory::{self, netlink};
use crate::net::ethernet::Mac;
use crate::root::Root;

/// The present hardware addresses of all links of this host, including those without an IP address: by default Linux answers ARP
/// requests for an address on every card that receives them.
pub fn own_macs(root: &Root) -> BTreeSet<Mac> {
    let links = netlink::links(root).map_or_else(|_| netlink::links_of_sysfs(root), |links| links.all);
    links
        .iter()
        .filter_map(|link| Mac::from_slice(&link.address))
        .collect()
}

/// A network card with at least one address that is not link-local.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Kernel name.
    pub name: String,
    /// Largest IP packet, bytes.
    pub mtu: usize,
    /// IPv4 addresses with their networks, the primary one first.
    pub v4: Vec<Ipv4Net>,
    /// IPv6 addresses with their networks.
    pub v6: Vec<Ipv6Net>,
}

impl Nic {
    /// Physical cards, bonds and VLANs of this host.
    pub fn of_this_host() -> Vec<Self> {
        let interfaces = inventory::interfaces(&Root::live());
        interfaces.iter().filter_map(Self::from_inventory).collect()
    }

    fn from_inventory(interface: &Interface) -> Option<Self> {
        let counts = matches!(interface.kind.as_str(), "physical" | "bond" | "vlan")
            && !interface.flags.iter().any(|flag| flag == "loopback");
        let nic = Self {
            name: interface.name.clone(),
            mtu: usize::try_from(interface.mtu).ok()?,
            v4: parsed(&interface.ipv4_addresses),
            v6: parsed(&interface.ipv6_addresses),
        };
        (counts && !(nic.v4.is_empty() && nic.v6.is_empty())).then_some(nic)
    }

    /// This host's address in the network of `ip`, if the card is in that network.
    pub fn address_near(&self, ip: IpAddr) -> Option<IpAddr> {
        match ip {
            IpAddr::V4(ip) => self.address_near_v4(ip).map(IpAddr::V4),
            IpAddr::V6(ip) => self.address_near_v6(ip).map(IpAddr::V6),
        }
    }

    pub fn address_near_v4(&self, ip: Ipv4Addr) -> Option<Ipv4Addr> {
        self.v4.iter().find(|net| net.contains(&ip)).map(Ipv4Net::addr)
    }

    pub fn address_near_v6(&self, ip: Ipv6Addr) -> Option<Ipv6Addr> {
        self.v6.iter().find(|net| net.contains(&ip)).map(Ipv6Net::addr)
    }

    pub fn has(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => self.v4.iter().any(|net| net.addr() == ip),
            IpAddr::V6(ip) => self.v6.iter().any(|net| net.addr() == ip),
        }
    }

    /// True if the card has an address of the same family.
    pub fn speaks(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(_) => !self.v4.is_empty(),
            IpAddr::V6(_) => !self.v6.is_empty(),
        }
    }
}

fn parsed<T: std::str::FromStr>(texts: &[String]) -> Vec<T> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(kind: &str, ipv4: &[&str], ipv6: &[&str]) -> Interface {
        Interface {
            name: "eth0".into(),
            mtu: 1500,
            kind: kind.into(),
            flags: vec!["up".into(), "broadcast".into()],
            ipv4_addresses: ipv4.iter().map(|text| (*text).to_owned()).collect(),
            ipv6_addresses: ipv6.iter().map(|text| (*text).to_owned()).collect(),
            ..Interface::default()
        }
    }

    #[test]
    fn physical_cards_bonds_and_vlans_with_an_address_count() {
        for kind in ["physical", "bond", "vlan"] {
            assert!(Nic::from_inventory(&interface(kind, &["10.0.0.5/24"], &[])).is_some());
            assert!(Nic::from_inventory(&interface(kind, &[], &["fd00::5/64"])).is_some());
            assert_eq!(Nic::from_inventory(&interface(kind, &[], &[])), None);
        }
        for kind in ["bridge", "veth", "device", "tun"] {
            assert_eq!(Nic::from_inventory(&interface(kind, &["10.0.0.5/24"], &[])), None);
        }
        let mut loopback = interface("physical", &["10.0.0.5/24"], &[]);
        loopback.flags.push("loopback".into());
        assert_eq!(Nic::from_inventory(&loopback), None);
    }

    #[test]
    fn every_link_with_an_ethernet_address_is_of_this_host() {
        let machine = crate::testing::Machine::new()
            .nic(
                "a/net/eth0",
                &[("ifindex", "2"), ("address", "02:00:00:00:00:0A")],
            )
            .nic(
                "a/net/ib0",
                &[("ifindex", "3"), ("address", "80:00:02:08:fe:80:00:00")],
            )
            .file("/sys/class/net/bonding_masters", "bond0\n");
        let macs: Vec<String> = own_macs(&machine.root()).iter().map(Mac::to_string).collect();
        assert_eq!(macs, ["02:00:00:00:00:0a"]);
    }

    #[test]
    fn the_near_address_is_the_one_in_the_same_network() {
        let nic = Nic::from_inventory(&interface(
            "physical",
            &["10.0.0.5/24", "192.168.7.1/16"],
            &["fd00::5/64"],
        ))
        .unwrap();
        let near = |ip: &str| nic.address_near(ip.parse().unwrap()).map(|ip| ip.to_string());
        assert_eq!(near("10.0.0.77").as_deref(), Some("10.0.0.5"));
        assert_eq!(near("192.168.200.1").as_deref(), Some("192.168.7.1"));
        assert_eq!(near("fd00::abcd").as_deref(), Some("fd00::5"));
        assert_eq!(near("10.0.1.1"), None);
        assert_eq!(near("fd01::1"), None);
        assert!(nic.has("10.0.0.5".parse().unwrap()) && !nic.has("10.0.0.6".parse().unwrap()));
    }
}
