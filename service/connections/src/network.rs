//! Distinguishes clients by their addresses.

use std::net::{IpAddr, Ipv6Addr};

/// The part of an address that one client cannot choose: all of IPv4, and the first 64 bits of IPv6 (RFC 6177).
pub fn network_of(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}
