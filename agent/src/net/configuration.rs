//! Converts a lease to the configuration of an interface: addresses, routes, name servers and the rest, as
//! plain values.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use mozim::{DhcpV4Lease, DhcpV6Lease};

/// RFC 791: every link carries this much; a smaller offer is a mistake.
const SMALLEST_MTU: u16 = 576;
/// RFC 1035: longest part of a name.
const LONGEST_LABEL: usize = 63;
/// Linux: longest host name.
const LONGEST_HOSTNAME: usize = 64;

/// A route through an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Network and prefix length; `0.0.0.0/0` and `::/0` are the default routes.
    pub destination: (IpAddr, u8),
    /// `None` when the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// The gateway is outside of the interface's own subnet (a /32 lease).
    pub onlink: bool,
    /// Smaller is preferred; `None`: that of the interface, see [`Configuration::with_metric`].
    pub metric: Option<u32>,
}

/// The configuration of one interface from one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Addresses and prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
    /// In order of setting.
    pub routes: Vec<Route>,
    /// In the order in which they are queried.
    pub name_servers: Vec<IpAddr>,
    /// Domains to complete short names with.
    pub search: Vec<String>,
    pub ntp: Vec<String>,
    pub hostname: Option<String>,
    /// Bytes.
    pub mtu: Option<u16>,
}

impl Configuration {
    /// With this metric for routes that have none of their own.
    #[must_use]
    pub fn with_metric(mut self, metric: u32) -> Self {
        for route in &mut self.routes {
            route.metric.get_or_insert(metric);
        }
        self
    }

    /// Without name servers and search domains.
    #[must_use]
    pub fn without_name_servers(mut self) -> Self {
        self.name_servers.clear();
        self.search.clear();
        self
    }
}

/// A DHCPv4 lease.
pub fn from_dhcp4(lease: &DhcpV4Lease) -> Configuration {
    // Without the option there is no mask: everything else is reached through the router, as on a network of
    // one host.
    let prefix = match lease.prefix_length() {
        0 => 32,
        prefix => prefix,
    };
    let route = |destination: (Ipv4Addr, u8), gateway: Ipv4Addr| {
        let gateway = (!gateway.is_unspecified()).then_some(gateway);
        let onlink = gateway.is_some_and(|gateway| !covers(lease.yiaddr.into(), prefix, gateway.into()));
        Route {
            destination: (destination.0.into(), destination.1),
            gateway: gateway.map(IpAddr::V4),
            onlink,
            metric: None,
        }
    };
    // RFC 3442: with classless routes the router option is not used.
    let routes = match lease.classless_routes.as_deref() {
        Some(classless) if !classless.is_empty() => classless
            .iter()
            .map(|one| route((one.destination, one.prefix_length), one.router))
            .collect(),
        _ => {
            let first = lease.gateways.iter().flatten().next();
            first
                .map(|gateway| route((Ipv4Addr::UNSPECIFIED, 0), *gateway))
                .into_iter()
                .collect()
        }
    };
    let mut search: Vec<String> = lease.domain_search.iter().flatten().cloned().collect();
    if search.is_empty() {
        search.extend(
            lease
                .domain_name
                .iter()
                .flat_map(|names| names.split_whitespace())
                .map(str::to_owned),
        );
    }
    Configuration {
        addresses: vec![(lease.yiaddr.into(), prefix)],
        routes,
        name_servers: lease
            .dns_srvs
            .iter()
            .flatten()
            .map(|server| IpAddr::V4(*server))
            .collect(),
        search: search.into_iter().filter_map(|name| domain(&name)).collect(),
        ntp: lease.ntp_srvs.iter().flatten().map(Ipv4Addr::to_string).collect(),
        hostname: lease.host_name.as_deref().and_then(hostname),
        mtu: lease.mtu.filter(|mtu| *mtu >= SMALLEST_MTU),
    }
}

/// A DHCPv6 lease. Routes come from router advertisements, not from here.
pub fn from_dhcp6(lease: &DhcpV6Lease) -> Configuration {
    Configuration {
        addresses: (!lease.address.is_unspecified())
            .then_some((lease.address.into(), 128))
            .into_iter()
            .collect(),
        name_servers: lease
            .dns_srvs
            .iter()
            .filter(|server| usable(**server))
            .map(|server| IpAddr::V6(*server))
            .collect(),
        search: lease.domain_list.iter().filter_map(|name| domain(name)).collect(),
        ntp: lease.ntp_srvs.clone(),
        ..Configuration::default()
    }
}

/// False for a link-local name server: it would need its interface with every query, which the resolver
/// cannot provide.
pub fn usable(server: Ipv6Addr) -> bool {
    !server.is_unicast_link_local() && !server.is_unspecified() && !server.is_multicast()
}

/// A domain that is safe to write into resolv.conf and valid to resolvers, which refuse the whole file for
/// one bad name.
pub fn domain(name: &str) -> Option<String> {
    let name = name.trim_end_matches(['.', '\0']);
    let fits = name.len() <= 253
        && name
            .split('.')
            .all(|label| (1..=LONGEST_LABEL).contains(&label.len()));
    let clean = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    (fits && clean).then(|| name.to_owned())
}

/// A valid host name; `localhost` does not count.
pub fn hostname(name: &str) -> Option<String> {
    let name = domain(name)?;
    (name.len() <= LONGEST_HOSTNAME && !name.starts_with("localhost")).then_some(name)
}

/// True when `other` is in the subnet of an address with this prefix length.
pub fn covers(address: IpAddr, prefix: u8, other: IpAddr) -> bool {
    IpNet::new(address, prefix).is_ok_and(|subnet| subnet.contains(&other))
}

#[cfg(test)]
mod tests {
    use mozim::DhcpV4ClasslessRoute;

    use super::*;

    fn lease() -> DhcpV4Lease {
        let mut lease = DhcpV4Lease::default();
        lease.yiaddr = Ipv4Addr::new(10, 0, 2, 15);
        lease.subnet_mask = Ipv4Addr::new(255, 255, 255, 0);
        lease.gateways = Some(vec![Ipv4Addr::new(10, 0, 2, 2), Ipv4Addr::new(10, 0, 2, 9)]);
        lease.dns_srvs = Some(vec![Ipv4Addr::new(10, 0, 2, 3)]);
        lease.host_name = Some("gold".into());
        lease
    }

    #[test]
    fn a_lease_gives_address_default_route_names_and_hostname() {
        let configuration = from_dhcp4(&lease()).with_metric(103);
        let expected = Configuration {
            addresses: vec![(Ipv4Addr::new(10, 0, 2, 15).into(), 24)],
            routes: vec![Route {
                destination: (Ipv4Addr::UNSPECIFIED.into(), 0),
                gateway: Some(Ipv4Addr::new(10, 0, 2, 2).into()),
                onlink: false,
                metric: Some(103),
            }],
            name_servers: vec![Ipv4Addr::new(10, 0, 2, 3).into()],
            hostname: Some("gold".into()),
            ..Configuration::default()
        };
        assert_eq!(configuration, expected);
    }

    #[test]
    fn classless_routes_replace_the_router() {
        let mut lease = lease();
        lease.classless_routes = Some(vec![
            DhcpV4ClasslessRoute {
                destination: Ipv4Addr::new(192, 168, 7, 0),
                prefix_length: 24,
                router: Ipv4Addr::new(10, 0, 2, 7),
            },
            DhcpV4ClasslessRoute {
                destination: Ipv4Addr::new(192, 168, 8, 0),
                prefix_length: 24,
                router: Ipv4Addr::UNSPECIFIED,
            },
        ]);
        let routes = from_dhcp4(&lease).routes;
        assert_eq!(routes.len(), 2);
        assert_eq!(routes[0].gateway, Some(Ipv4Addr::new(10, 0, 2, 7).into()));
        assert_eq!((routes[1].gateway, routes[1].onlink), (None, false));
    }

    #[test]
    fn a_gateway_outside_of_the_subnet_is_on_the_link() {
        let mut lease = lease();
        lease.subnet_mask = Ipv4Addr::new(255, 255, 255, 255);
        assert!(from_dhcp4(&lease).routes[0].onlink);
    }

    #[test]
    fn without_a_mask_the_network_is_not_everything() {
        let mut lease = lease();
        lease.subnet_mask = Ipv4Addr::UNSPECIFIED;
        let configuration = from_dhcp4(&lease);
        assert_eq!(configuration.addresses, [(lease.yiaddr.into(), 32)]);
        assert!(configuration.routes[0].onlink);
    }

    #[test]
    fn offers_that_would_do_harm_are_not_taken() {
        let mut lease = lease();
        lease.mtu = Some(68);
        lease.host_name = Some("localhost.localdomain".into());
        lease.domain_name = Some("good.example bad;rm\nnameserver 6.6.6.6".into());
        let configuration = from_dhcp4(&lease);
        assert_eq!(configuration.mtu, None);
        assert_eq!(configuration.hostname, None);
        assert_eq!(configuration.search, ["good.example", "nameserver", "6.6.6.6"]);
        assert_eq!(domain("a\nnameserver 6.6.6.6"), None);
        for wrong in ["", ".", "a..b", ".a", &format!("{}.example", "x".repeat(64))] {
            assert_eq!(domain(wrong), None, "{wrong}");
        }
        assert!(domain(&format!("{}.example.", "x".repeat(63))).is_some());
        lease.host_name = Some("x".repeat(65));
        assert_eq!(from_dhcp4(&lease).hostname, None);
    }
}
