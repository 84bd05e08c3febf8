//! IPv4 addresses that are written, or translated, as IPv6 ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 address that an IPv6 one leads to, otherwise the address itself.
///
/// Sources: RFC 4291 section 2.5.5 (`::a.b.c.d`, `::ffff:a.b.c.d`), RFC 6052 section 2.1 and RFC 8215 (NAT64: `64:ff9b::/96`,
/// `64:ff9b:1::/48`, of which the last 32 bits are taken), RFC 3056 section 2 (6to4: `2002::/16`).
pub fn plain(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    embedded(v6).map_or(ip, IpAddr::V4)
}

fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = |ip: Ipv6Addr| Ipv4Addr::from_bits(ip.to_bits() as u32);
    match ip.segments() {
        // Loopback and the unspecified address are those of IPv6.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] => Some(last(ip)),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] | [0x64, 0xff9b, 1, ..] => Some(last(ip)),
        [0x2002, high, low, ..] => Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_ipv4_address_is_that_address() {
        for text in [
            "::ffff:192.0.2.33",
            "::192.0.2.33",
            "64:ff9b::192.0.2.33",
            "64:ff9b:1::192.0.2.33",
            "64:ff9b:1:abcd::192.0.2.33",
            "2002:c000:221::1",
        ] {
            let found = plain(text.parse().unwrap());
            assert_eq!(found, IpAddr::V4(Ipv4Addr::new(192, 0, 2, 33)), "{text}");
        }
        for text in ["::1", "::", "2001:db8::1", "64:ff9b:2::1", "192.0.2.33"] {
            let ip: IpAddr = text.parse().unwrap();
            assert_eq!(plain(ip), ip);
        }
    }
}
