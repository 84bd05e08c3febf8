//! The addresses that BMCs may have. A user names them and the service connects, so they must not lead to the service's own
//! neighbours (docs/protocol/redfish.md#7).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};

use crate::error::AddressError;

/// Addresses outside of the link-local range at which clouds tell their machines secrets: of Alibaba, Azure, Amazon and Google. They are
/// refused unless the networks are named.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254)),
];

/// The rules for addresses.
#[derive(Debug, Clone)]
pub struct AddressRules {
    /// Networks that BMCs may be in; empty: any but those that are refused.
    pub allowed: Vec<IpNet>,
    /// Never connected to: the service's own addresses, the cluster's networks.
    pub refused: Vec<IpNet>,
    /// Loopback and link-local addresses that may be used all the same, for tests and labs. [`AddressRules::refused`] is stronger.
    pub special: Vec<IpNet>,
    /// Allows `http` for BMCs without TLS.
    pub plain_http: bool,
    /// Ports that BMCs may have; empty: any.
    pub ports: Vec<u16>,
}

impl Default for AddressRules {
    /// https on port 443, anywhere but in loopback, link-local, multicast and unspecified addresses.
    fn default() -> Self {
        Self {
            allowed: Vec::new(),
            refused: Vec::new(),
            special: Vec::new(),
            plain_http: false,
            ports: vec![443],
        }
    }
}

/// A BMC's place, resolved once: every connection goes to `address`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Scheme, host and port.
    pub base: Url,
    pub address: SocketAddr,
}

impl AddressRules {
    /// Resolves the address `https://HOST[:PORT]` and holds it to the rules. Of several addresses of a name the first allowed one is
    /// taken.
    pub(crate) async fn resolve(&self, address: &str, deadline: Duration) -> Result<Place, AddressError> {
        let (base, port) = self.base(address)?;
        let no_address = || AddressError::NotAnAddress(address.to_owned());
        let candidates = match base.host().ok_or_else(no_address)? {
            Host::Ipv4(ip) => vec![IpAddr::V4(ip)],
            Host::Ipv6(ip) => vec![IpAddr::V6(ip)],
            Host::Domain(name) => addresses(name, port, deadline).await?,
        };
        let mut first_refusal = None;
        for ip in candidates {
            match self.check(ip) {
                Ok(()) => {
                    let address = SocketAddr::new(ip, port);
                    return Ok(Place { base, address });
                }
                Err(refusal) => first_refusal = first_refusal.or(Some(refusal)),
            }
        }
        Err(first_refusal.unwrap_or_else(no_address))
    }

    fn base(&self, address: &str) -> Result<(Url, u16), AddressError> {
        let no_address = || AddressError::NotAnAddress(without_user(address));
        let url = Url::parse(address.trim()).map_err(|_| no_address())?;
        let bare = url.username().is_empty()
            && url.password().is_none()
            && matches!(url.path(), "" | "/" | "/redfish" | "/redfish/v1" | "/redfish/v1/")
            && url.query().is_none()
            && url.fragment().is_none();
        match url.scheme() {
            "https" => {}
            "http" if self.plain_http => {}
            "http" => return Err(AddressError::PlainHttp),
            _ => return Err(no_address()),
        }
        let port = url.port_or_known_default().ok_or_else(no_address)?;
        if !bare {
            return Err(no_address());
        }
        if !self.ports.is_empty() && !self.ports.contains(&port) {
            return Err(AddressError::Port(port));
        }
        let base = url.join("/").map_err(|_| no_address())?;
        Ok((base, port))
    }

    fn check(&self, ip: IpAddr) -> Result<(), AddressError> {
        // An IPv4 address in IPv6 spelling reaches the IPv4 one.
        let plain = ip.to_canonical();
        let inside = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&plain));
        let refused = |what| Err(AddressError::Refused { address: ip, what });
        if inside(&self.refused) {
            return refused("an address of this service or of its neighbours");
        }
        if let Some(what) = special(plain)
            && !inside(&self.special)
        {
            return refused(what);
        }
        if self.allowed.is_empty() && METADATA.contains(&plain) {
            return refused("the metadata service of a cloud");
        }
        match self.allowed.is_empty() || inside(&self.allowed) || inside(&self.special) {
            true => Ok(()),
            false => Err(AddressError::NotAllowed(ip)),
        }
    }
}

/// Names the kind of an address that no BMC in a network has.
fn special(ip: IpAddr) -> Option<&'static str> {
    let (link_local, broadcast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.is_broadcast()),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), false),
    };
    let zero = matches!(ip, IpAddr::V4(ip) if ip.octets()[0] == 0);
    [
        (ip.is_loopback(), "a loopback address"),
        (link_local, "a link-local address"),
        (ip.is_multicast() || broadcast, "a multicast address"),
        (ip.is_unspecified() || zero, "the unspecified address"),
    ]
    .into_iter()
    .find_map(|(is, what)| is.then_some(what))
}

async fn addresses(name: &str, port: u16, deadline: Duration) -> Result<Vec<IpAddr>, AddressError> {
    let unresolved = |why: String| AddressError::Unresolved {
        name: name.to_owned(),
        why,
    };
    let found = tokio::time::timeout(deadline, tokio::net::lookup_host((name, port))).await;
    let found = found
        .map_err(|_| unresolved("no answer in time".to_owned()))?
        .map_err(|error| unresolved(error.to_string()))?;
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    match found.is_empty() {
        true => Err(unresolved("the name is known, without an address".to_owned())),
        false => Ok(found),
    }
}

/// Leaves out what stands before `@`, which may be a password.
fn without_user(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, host)) => format!("...@{host}"),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5);

    async fn refusal(rules: &AddressRules, address: &str) -> String {
        rules.resolve(address, NOW).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn addresses_of_the_service_and_its_neighbours_are_refused() {
        let rules = AddressRules {
            refused: vec!["192.0.2.10/32".parse().unwrap()],
            ..AddressRules::default()
        };
        for (address, why) in [
            ("https://127.0.0.1", "loopback"),
            ("https://127.8.8.8", "loopback"),
            ("https://2130706433", "loopback"),
            ("https://[::1]", "loopback"),
            ("https://[::ffff:127.0.0.1]", "loopback"),
            ("https://localhost", "loopback"),
            ("https://169.254.169.254", "link-local"),
            ("https://100.100.100.200", "metadata"),
            ("https://[fd00:ec2::254]", "metadata"),
            ("https://[fe80::1]", "link-local"),
            ("https://224.0.0.1", "multicast"),
            ("https://255.255.255.255", "multicast"),
            ("https://0.0.0.0", "unspecified"),
            ("https://0.1.2.3", "unspecified"),
            ("https://[::]", "unspecified"),
            ("https://192.0.2.10", "this service"),
            ("https://[::ffff:192.0.2.10]", "this service"),
        ] {
            let refusal = refusal(&rules, address).await;
            assert!(refusal.contains(why), "{address}: {refusal}");
        }
        assert!(rules.resolve("https://192.0.2.11", NOW).await.is_ok());
    }

    #[tokio::test]
    async fn only_allowed_networks_and_those_that_are_excepted_are_connected_to() {
        let rules = AddressRules {
            allowed: vec!["192.0.2.0/24".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
            special: vec!["127.0.0.1/32".parse().unwrap()],
            ports: vec![443, 8443],
            ..AddressRules::default()
        };
        let place = rules.resolve("https://[2001:db8::7]:8443/", NOW).await.unwrap();
        assert_eq!(place.address, "[2001:db8::7]:8443".parse().unwrap());
        assert!(rules.resolve("https://192.0.2.1/redfish/v1", NOW).await.is_ok());
        assert!(rules.resolve("https://127.0.0.1", NOW).await.is_ok());
        assert!(refusal(&rules, "https://127.0.0.2").await.contains("loopback"));
        assert!(
            refusal(&rules, "https://198.51.100.1")
                .await
                .contains("none of the networks")
        );
        assert!(refusal(&rules, "https://192.0.2.1:22").await.contains("port 22"));
        let named = AddressRules {
            allowed: vec!["100.64.0.0/10".parse().unwrap()],
            ..AddressRules::default()
        };
        assert!(named.resolve("https://100.100.100.200", NOW).await.is_ok());
    }

    #[tokio::test]
    async fn an_address_is_a_scheme_and_a_host() {
        let mut rules = AddressRules::default();
        for wrong in [
            "192.0.2.1",
            "ftp://192.0.2.1",
            "https://",
            "https://192.0.2.1/other",
            "https://192.0.2.1/?a=b",
            "https://192.0.2.1/#a",
        ] {
            assert!(refusal(&rules, wrong).await.contains("is expected"), "{wrong}");
        }
        let secret = refusal(&rules, "https://admin:s3cret@192.0.2.1").await;
        assert!(
            secret.contains("without user") && !secret.contains("s3cret"),
            "{secret}"
        );
        assert!(refusal(&rules, "http://192.0.2.1").await.contains("use https"));
        rules.plain_http = true;
        rules.ports = Vec::new();
        assert!(rules.resolve("http://192.0.2.1:8000", NOW).await.is_ok());
        let nowhere = refusal(&rules, "https://bmc.invalid").await;
        assert!(nowhere.contains("has no address"), "{nowhere}");
    }
}
