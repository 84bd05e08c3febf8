use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use ipnet::IpNet;

use crate::plain::plain;

/// Addresses outside of the link-local range at which clouds give their machines secrets: of Alibaba, Azure, Amazon and Google. They are
/// refused unless the networks are named.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254)),
];

/// Ranges that are allowed only by a network within them.
const SPECIAL: [&str; 4] = ["127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10"];

/// The networks that are connected to. The default: any but loopback, link-local, multicast and unspecified addresses, and those of
/// this machine.
#[derive(Debug, Clone, Default)]
pub struct Networks {
    /// Empty: any but those that are refused.
    pub allowed: Vec<IpNet>,
    /// Never connected to: the service's own addresses, the cluster's networks.
    pub refused: Vec<IpNet>,
    /// Loopback and link-local addresses that may be used all the same, for tests and labs. [`Networks::refused`] is stronger.
    pub special: Vec<IpNet>,
    /// Allows the addresses of this machine, which otherwise need a network of that one address.
    pub this_machine: bool,
}

/// An address that is not connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("the name {name:?} has no address: {why}")]
    Unresolved { name: String, why: String },
    #[error("{address} is {what}: no such address is connected to because a user names it")]
    Refused { address: IpAddr, what: &'static str },
    #[error("{0} is in none of the networks that are allowed here")]
    NotAllowed(IpAddr),
}

impl Networks {
    /// The networks that an operator names; loopback and link-local addresses are used only where one of the networks is within such a
    /// range. If `networks` is empty, every other address is allowed. `own`: addresses of this service.
    pub fn named(networks: &[IpNet], own: &[IpAddr]) -> Self {
        let own = own.iter().filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
        Self {
            allowed: networks.to_vec(),
            refused: own.map(|ip| IpNet::from(*ip)).collect(),
            special: networks.iter().filter(|net| is_special(net)).copied().collect(),
            this_machine: false,
        }
    }

    /// The networks of API servers. One may have this machine's own address, as a control plane behind a NodePort has; what is bound
    /// to such an address is open to its network anyway. `trial`: only this machine reaches the service, so loopback is allowed.
    pub fn of_api_servers(networks: &[IpNet], trial: bool) -> Self {
        let mut found = Self {
            this_machine: true,
            ..Self::named(networks, &[])
        };
        if trial {
            let loopback = SPECIAL[..2].iter().filter_map(|net| net.parse::<IpNet>().ok());
            found.special.extend(loopback);
        }
        found
    }

    /// Resolves a host, a name or an address (in brackets or without), and returns those of its addresses that may be connected to:
    /// at least one.
    ///
    /// # Errors
    /// Fails if there is no such address within `limit`.
    pub async fn resolve(
        &self,
        host: &str,
        port: u16,
        limit: Duration,
    ) -> Result<Vec<SocketAddr>, NetworkError> {
        let candidates = match literal(host) {
            Some(ip) => vec![ip],
            None => addresses(host, port, limit).await?,
        };
        let mut first_refusal = None;
        let mut good = Vec::new();
        for ip in candidates {
            match self.check(ip) {
                Ok(()) => good.push(SocketAddr::new(ip, port)),
                Err(refusal) => first_refusal = first_refusal.or(Some(refusal)),
            }
        }
        match first_refusal {
            Some(refusal) if good.is_empty() => Err(refusal),
            _ => Ok(good),
        }
    }

    /// Resolves a name that no user chose to any addresses.
    ///
    /// # Errors
    /// Fails if the name has no address within `limit`.
    pub async fn resolve_any(
        name: &str,
        port: u16,
        limit: Duration,
    ) -> Result<Vec<SocketAddr>, NetworkError> {
        let found = addresses(name, port, limit).await?;
        Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
    }

    /// Checks a host as far as that is possible without resolving it: a proxy will connect to it.
    ///
    /// # Errors
    /// Fails if connecting to it is not allowed.
    pub fn check_unresolved(&self, host: &str) -> Result<(), NetworkError> {
        let is_local = host == "localhost" || host.ends_with(".localhost");
        let ip = literal(host).or(is_local.then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        ip.map_or(Ok(()), |ip| self.check(ip))
    }

    fn check(&self, ip: IpAddr) -> Result<(), NetworkError> {
        let (plain, spelled) = (plain(ip), ip.to_canonical());
        let inside = |nets: &[IpNet]| {
            nets.iter()
                .any(|net| net.contains(&plain) || net.contains(&spelled))
        };
        let refused = |what| Err(NetworkError::Refused { address: ip, what });
        if inside(&self.refused) {
            return refused("an address of this service or of its neighbours");
        }
        if let Some(what) = special(plain) {
            return match inside(&self.special) {
                true => Ok(()),
                false => refused(what),
            };
        }
        if self.allowed.is_empty() && METADATA.contains(&plain) {
            return refused("the metadata service of a cloud");
        }
        if !self.this_machine && !self.allowed.contains(&IpNet::from(plain)) && is_of_this_machine(plain) {
            return refused("an address of the machine that this service runs on");
        }
        match self.allowed.is_empty() || inside(&self.allowed) || inside(&self.special) {
            true => Ok(()),
            false => Err(NetworkError::NotAllowed(ip)),
        }
    }
}

/// True for a range within loopback or link-local addresses; a wider one does not include them.
fn is_special(network: &IpNet) -> bool {
    let mut ranges = SPECIAL.iter().filter_map(|text| text.parse::<IpNet>().ok());
    ranges.any(|range| range.contains(network))
}

/// Names the kind of an address that nothing else in a network has.
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

/// True when packets to the address stay on this machine: the kernel then selects it as their source as well. Connecting a datagram
/// socket sends nothing.
fn is_of_this_machine(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == ip)
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse().ok()
}

async fn addresses(name: &str, port: u16, limit: Duration) -> Result<Vec<IpAddr>, NetworkError> {
    let unresolved = |why: String| NetworkError::Unresolved {
        name: name.to_owned(),
        why,
    };
    let found = tokio::time::timeout(limit, tokio::net::lookup_host((name, port))).await;
    let found = found
        .map_err(|_| unresolved("no answer in time".to_owned()))?
        .map_err(|error| unresolved(error.to_string()))?;
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    match found.is_empty() {
        true => Err(unresolved("the name is known, without an address".to_owned())),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    async fn refusal(networks: &Networks, host: &str) -> String {
        networks.resolve(host, 443, LIMIT).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn addresses_of_the_service_and_its_neighbours_are_refused() {
        let networks = Networks {
            refused: nets(&["192.0.2.10/32"]),
            ..Networks::default()
        };
        for (host, why) in [
            ("127.0.0.1", "loopback"),
            ("127.8.8.8", "loopback"),
            ("2130706433", "loopback"),
            ("[::1]", "loopback"),
            ("::1", "loopback"),
            ("[::ffff:127.0.0.1]", "loopback"),
            ("[64:ff9b::7f00:1]", "loopback"),
            ("[2002:7f00:1::]", "loopback"),
            ("localhost", "loopback"),
            ("169.254.169.254", "link-local"),
            ("[64:ff9b::a9fe:a9fe]", "link-local"),
            ("100.100.100.200", "metadata"),
            ("[fd00:ec2::254]", "metadata"),
            ("[fe80::1]", "link-local"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "multicast"),
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("[::]", "unspecified"),
            ("192.0.2.10", "this service"),
            ("[::ffff:192.0.2.10]", "this service"),
            ("[64:ff9b::192.0.2.10]", "this service"),
        ] {
            let refusal = refusal(&networks, host).await;
            assert!(refusal.contains(why), "{host}: {refusal}");
        }
        let found = networks.resolve("192.0.2.11", 443, LIMIT).await.unwrap();
        assert_eq!(found, ["192.0.2.11:443".parse().unwrap()]);
        assert!(
            refusal(&networks, "host.invalid")
                .await
                .contains("has no address")
        );
    }

    #[tokio::test]
    async fn only_allowed_networks_and_those_that_are_excepted_are_connected_to() {
        let own = ["192.0.2.7".parse().unwrap(), "127.0.0.1".parse().unwrap()];
        let named = nets(&["192.0.2.0/24", "2001:db8::/32", "127.0.0.0/30", "100.64.0.0/10"]);
        let networks = Networks::named(&named, &own);
        assert_eq!(networks.special, nets(&["127.0.0.0/30"]));
        assert_eq!(networks.refused, nets(&["192.0.2.7/32"]));
        for good in [
            "[2001:db8::7]",
            "192.0.2.1",
            "127.0.0.1",
            "[64:ff9b::192.0.2.1]",
            "100.100.100.200",
        ] {
            assert!(networks.resolve(good, 443, LIMIT).await.is_ok(), "{good}");
        }
        for (bad, why) in [
            ("127.0.0.9", "loopback"),
            ("192.0.2.7", "this service"),
            ("198.51.100.1", "none of the networks"),
        ] {
            assert!(refusal(&networks, bad).await.contains(why), "{bad}");
        }
        let wide = Networks::named(&nets(&["0.0.0.0/0"]), &[]);
        assert!(refusal(&wide, "127.0.0.1").await.contains("loopback"));
    }

    #[tokio::test]
    async fn an_api_server_may_have_an_address_of_this_machine_and_loopback_in_a_trial_alone() {
        let own = UdpSocket::bind("0.0.0.0:0")
            .and_then(|socket| socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()))
            .map(|address| address.ip().to_string());
        let networks = Networks::of_api_servers(&[], false);
        // A machine without a route has no address of its own.
        for host in own.iter().filter(|ip| !ip.starts_with("0.")) {
            assert!(refusal(&Networks::default(), host).await.contains("machine"));
            assert!(networks.resolve(host, 443, LIMIT).await.is_ok(), "{host}");
        }
        for bad in [
            "127.0.0.1",
            "[::1]",
            "localhost",
            "169.254.169.254",
            "100.100.100.200",
        ] {
            assert!(networks.resolve(bad, 443, LIMIT).await.is_err(), "{bad}");
        }
        let trial = Networks::of_api_servers(&[], true);
        assert!(trial.resolve("[::1]", 443, LIMIT).await.is_ok());
        assert!(refusal(&trial, "169.254.169.254").await.contains("link-local"));
        let named = Networks::of_api_servers(&nets(&["192.0.2.0/24"]), true);
        assert!(
            refusal(&named, "198.51.100.1")
                .await
                .contains("none of the networks")
        );
        assert!(named.resolve("127.0.0.1", 443, LIMIT).await.is_ok());
    }

    #[test]
    fn what_a_proxy_connects_to_is_checked_as_far_as_it_is_known() {
        let networks = Networks::default();
        for bad in ["127.0.0.1", "localhost", "muster.localhost", "[64:ff9b::7f00:1]"] {
            assert!(networks.check_unresolved(bad).is_err(), "{bad}");
        }
        for good in ["api.example.test", "192.0.2.1"] {
            assert!(networks.check_unresolved(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        assert!(is_of_this_machine("127.0.0.1".parse().unwrap()));
        assert!(!is_of_this_machine("192.0.2.1".parse().unwrap()));
    }
}
