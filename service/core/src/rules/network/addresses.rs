//! Reads the addresses of network interfaces.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::inventory::Interface;

/// The addresses of an interface with their prefix lengths; texts that are no such address are left out.
pub(crate) fn addresses_of(interface: &Interface) -> impl Iterator<Item = IpNet> {
    interface
        .ipv4_addresses
        .iter()
        .chain(&interface.ipv6_addresses)
        .filter_map(|text| text.parse().ok())
}

/// As [`addresses_of`], without loopback, link-local and other addresses that no other machine reaches.
pub fn networks_of(interface: &Interface) -> impl Iterator<Item = IpNet> {
    addresses_of(interface).filter(|net| is_of_a_network(net.addr()))
}

/// True for addresses that other machines can reach.
pub(crate) fn is_of_a_network(ip: IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || link_local)
}
