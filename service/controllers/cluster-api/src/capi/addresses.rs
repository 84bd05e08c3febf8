//! Lists the addresses of a machine. Source: docs/protocol/capi-agent-provider.md#2, "Addresses".
//!
//! Upstream lists IPv4 addresses only; here IPv6 addresses follow them.

use std::net::IpAddr;

use muster_resources::MachineAddress;

use super::agents::Interface;

/// Type of the address that is the host's name.
pub const HOST_NAME: &str = "InternalDNS";

/// Addresses of the interfaces with a carrier, then the host's name.
pub fn addresses(interfaces: &[Interface], hostname: Option<&str>) -> Vec<MachineAddress> {
    let connected = || {
        interfaces
            .iter()
            .filter(|one| one.has_carrier.unwrap_or_default())
    };
    let v4 = connected().flat_map(|one| &one.ip_v4_addresses);
    let v6 = connected().flat_map(|one| &one.ip_v6_addresses);
    let of_host = v4.chain(v6).filter_map(|text| address(text));
    let mut list: Vec<MachineAddress> = of_host.map(|address| entry("ExternalIP", address)).collect();
    let name = hostname.filter(|name| !name.is_empty());
    list.extend(name.map(|name| entry(HOST_NAME, name.to_owned())));
    list
}

fn entry(type_: &str, address: String) -> MachineAddress {
    MachineAddress {
        type_: type_.to_owned(),
        address,
    }
}

/// The address without its prefix length; `None` for link-local and loopback addresses.
fn address(text: &str) -> Option<String> {
    let (ip, _) = text.rsplit_once('/').unwrap_or((text, ""));
    match ip.parse().ok()? {
        IpAddr::V6(v6) if v6.is_unicast_link_local() || v6.is_loopback() => None,
        IpAddr::V4(_) | IpAddr::V6(_) => Some(ip.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_interfaces_with_a_carrier_come_first_and_the_name_last() {
        let interface = |has_carrier, v4: &[&str], v6: &[&str]| Interface {
            has_carrier: Some(has_carrier),
            ip_v4_addresses: v4.iter().map(|&one| one.to_owned()).collect(),
            ip_v6_addresses: v6.iter().map(|&one| one.to_owned()).collect(),
        };
        let interfaces = [
            interface(true, &["192.0.2.7/24"], &["fe80::7/64", "2001:db8::7/64"]),
            interface(false, &["198.51.100.7/24"], &[]),
            interface(true, &["203.0.113.7/25", "nonsense"], &[]),
        ];
        let list = addresses(&interfaces, Some("worker-0"));
        let list: Vec<_> = list
            .iter()
            .map(|one| (one.type_.as_str(), one.address.as_str()))
            .collect();
        assert_eq!(
            list,
            [
                ("ExternalIP", "192.0.2.7"),
                ("ExternalIP", "203.0.113.7"),
                ("ExternalIP", "2001:db8::7"),
                ("InternalDNS", "worker-0"),
            ]
        );
        assert_eq!(addresses(&[], Some("")), []);
    }
}
