//! Lists the addresses of a machine. Source: docs/protocol/capi-agent-provider.md#2, "Addresses".
//!
//! Upstream lists IPv4 addresses as `ExternalIP` alone; here IPv6 addresses follow them, and each is listed as `InternalIP` as well: bootstrap
//! providers search for either (docs/protocol/capi-day1.md, section 2).

use std::net::IpAddr;

use muster_resources::MachineAddress;

use super::agents::Interface;

/// Type of the address that is the host's name.
pub const HOST_NAME: &str = "InternalDNS";

/// Types of the address of an interface: inner networks and outer ones are not distinguished.
const OF_INTERFACE: [&str; 2] = ["InternalIP", "ExternalIP"];

/// Types of the host's name.
const OF_NAME: [&str; 2] = ["Hostname", HOST_NAME];

/// Most addresses of one host: Cluster API takes 256 entries.
const MOST: usize = 64;

/// Addresses of the interfaces with a carrier, then the host's name, each in all of its types.
pub fn addresses(interfaces: &[Interface], hostname: Option<&str>) -> Vec<MachineAddress> {
    let connected = || {
        interfaces
            .iter()
            .filter(|one| one.has_carrier.unwrap_or_default())
    };
    let v4 = connected().flat_map(|one| &one.ip_v4_addresses);
    let v6 = connected().flat_map(|one| &one.ip_v6_addresses);
    let of_host = v4.chain(v6).filter_map(|text| address(text)).take(MOST);
    let of_host: Vec<String> = of_host.collect();
    let name = hostname.filter(|name| !name.is_empty()).map(str::to_owned);
    let addresses = OF_INTERFACE
        .into_iter()
        .flat_map(|type_| of_host.iter().map(move |address| entry(type_, address.clone())));
    let names = OF_NAME
        .into_iter()
        .flat_map(|type_| name.iter().map(move |name| entry(type_, name.clone())));
    addresses.chain(names).collect()
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
                ("InternalIP", "192.0.2.7"),
                ("InternalIP", "203.0.113.7"),
                ("InternalIP", "2001:db8::7"),
                ("ExternalIP", "192.0.2.7"),
                ("ExternalIP", "203.0.113.7"),
                ("ExternalIP", "2001:db8::7"),
                ("Hostname", "worker-0"),
                ("InternalDNS", "worker-0"),
            ]
        );
        assert_eq!(addresses(&[], Some("")), []);
        let many: Vec<String> = (0..100).map(|n| format!("192.0.2.{n}/24")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(addresses(&[interface(true, &many, &[])], None).len(), 128);
    }
}
