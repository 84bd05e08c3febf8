//! Reads addresses of listeners as people write them, and URLs of the service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use muster_operations::urls::Urls;
use url::{Host, Url};

/// Default port of the API.
const API_PORT: u16 = 8090;

/// Default port of the boot listener.
const BOOT_PORT: u16 = 8091;

/// Default port of the built-in Kubernetes API.
const KUBE_PORT: u16 = 6443;

/// Default port of the status listener.
const STATUS_PORT: u16 = 8092;

/// Reads `--listen`.
pub fn api(text: &str) -> Result<SocketAddr, String> {
    address(text, API_PORT)
}

/// Reads `--boot-listen`.
pub fn boot(text: &str) -> Result<SocketAddr, String> {
    address(text, BOOT_PORT)
}

/// Reads `--kube-listen`.
pub fn kube(text: &str) -> Result<SocketAddr, String> {
    address(text, KUBE_PORT)
}

/// Reads `--status-listen`.
pub fn status(text: &str) -> Result<SocketAddr, String> {
    address(text, STATUS_PORT)
}

/// Reads an address as programs in Go do: `:PORT` is every address of both families.
pub fn of_go(text: &str) -> Result<SocketAddr, String> {
    let every = text.strip_prefix(':').and_then(|port| port.parse().ok());
    match every {
        Some(port) => Ok(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port)),
        None if text.contains(':') => address(text, 0),
        None => Err("give ADDRESS:PORT, or :PORT for every address".into()),
    }
}

/// The address of the boot listener that goes with an API listener at `api`.
pub fn boot_beside(api: SocketAddr) -> SocketAddr {
    SocketAddr::new(api.ip(), BOOT_PORT)
}

/// The address by which programs on this machine reach a listener on `address`.
pub fn seen_from_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The IP addresses in the service's URLs; host names are skipped.
pub fn literal(urls: &Urls) -> Vec<IpAddr> {
    let ip = |url: &String| match Url::parse(url).ok()?.host()? {
        Host::Ipv4(ip) => Some(ip.into()),
        Host::Ipv6(ip) => Some(ip.into()),
        Host::Domain(_) => None,
    };
    [&urls.public, &urls.boot].into_iter().filter_map(ip).collect()
}

/// Parses `ADDRESS:PORT`, `NAME:PORT`, either without its port, `:PORT` for every IPv4 address, or `PORT` for this computer only.
fn address(text: &str, usual_port: u16) -> Result<SocketAddr, String> {
    let text = text.trim();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let unbracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Ok(ip) = unbracketed.unwrap_or(text).parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, usual_port));
    }
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let (name, port) = match text.rsplit_once(':') {
        None => (text, usual_port),
        Some((name, port)) => {
            let port = port.parse();
            let port = port.map_err(|_| format!("{text:?} does not end in a port from 0 to 65535"))?;
            (name, port)
        }
    };
    if name.is_empty() {
        return Ok((Ipv4Addr::UNSPECIFIED, port).into());
    }
    if text.contains('/') || name.contains(':') {
        return Err("write ADDRESS:PORT, such as 0.0.0.0:8090, :8090 or [::]:8090, without http://".into());
    }
    let found = (name, port).to_socket_addrs();
    let found: Vec<SocketAddr> = found
        .map_err(|error| format!("the name {name:?} is not known here ({error}); write ADDRESS:PORT"))?
        .collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first
        .copied()
        .ok_or_else(|| format!("the name {name:?} has no address here; write ADDRESS:PORT"))
}

/// Parses a URL that has a scheme. The allowed schemes are checked later, where the option's name is known.
pub fn url(text: &str) -> Result<Url, String> {
    if !text.contains("://") {
        return Err(format!(
            "write it with http:// or https://, such as http://{text}"
        ));
    }
    Url::parse(text).map_err(|error| format!("{error}; write it as http://ADDRESS:PORT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_people_write_them() {
        for (text, address) in [
            ("127.0.0.1:1", "127.0.0.1:1"),
            (":8090", "0.0.0.0:8090"),
            ("8090", "127.0.0.1:8090"),
            ("0.0.0.0", "0.0.0.0:8090"),
            ("::", "[::]:8090"),
            ("[::]", "[::]:8090"),
            ("[::]:9", "[::]:9"),
            ("localhost:7", "127.0.0.1:7"),
            ("localhost", "127.0.0.1:8090"),
        ] {
            assert_eq!(api(text).unwrap().to_string(), address, "{text}");
        }
        for (text, words) in [
            ("http://127.0.0.1:8090", "without http://"),
            ("127.0.0.1:banana", "port"),
            ("127.0.0.1:99999", "port"),
            ("no.such.name.invalid:1", "not known here"),
        ] {
            let error = api(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_url_without_scheme_is_told_with_one() {
        assert!(
            url("192.0.2.1:8090")
                .unwrap_err()
                .contains("http://192.0.2.1:8090")
        );
        assert_eq!(url("https://x").unwrap().as_str(), "https://x/");
    }

    #[test]
    fn a_listener_on_every_address_is_reached_on_loopback() {
        for (bound, seen) in [
            ("0.0.0.0:6443", "127.0.0.1:6443"),
            ("[::]:6443", "[::1]:6443"),
            ("192.0.2.7:1", "192.0.2.7:1"),
        ] {
            assert_eq!(seen_from_here(bound.parse().unwrap()).to_string(), seen);
        }
    }
}
