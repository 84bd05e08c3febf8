//! Reads name servers and search domains from router advertisements (RFC 8106). The kernel uses
//! advertisements for addresses and routes itself and passes these options on as netlink messages
//! (`RTM_NEWNDUSEROPT`).

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use netlink_sys::{AsyncSocket, AsyncSocketExt, SocketAddr, TokioSocket, protocols::NETLINK_ROUTE};

use super::configuration::{Configuration, domain, usable};

const RTNLGRP_ND_USEROPT: u32 = 20;
const RTM_NEWNDUSEROPT: u16 = 68;
const NETLINK_HEADER: usize = 16;
const USER_OPTION_HEADER: usize = 16;
const OPTION_RDNSS: u8 = 25;
const OPTION_DNSSL: u8 = 31;

/// The options of one message. The kernel sends one for each option of an advertisement, so most hold only
/// one kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    /// `None` when the message has no name servers.
    name_servers: Option<Vec<IpAddr>>,
    /// `None` when the message has no search domains.
    search: Option<Vec<String>>,
}

impl Advertised {
    /// Replaces the parts that the message has, and no others.
    pub fn merge_into(self, configuration: &mut Configuration) {
        if let Some(name_servers) = self.name_servers {
            configuration.name_servers = name_servers;
        }
        if let Some(search) = self.search {
            configuration.search = search;
        }
    }
}

/// A netlink socket that receives the options.
pub struct RouterOptions {
    socket: TokioSocket,
}

impl RouterOptions {
    /// Starts listening.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket.
    pub fn open() -> io::Result<Self> {
        let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
        socket.socket_mut().bind(&SocketAddr::new(0, 0))?;
        socket.socket_mut().add_membership(RTNLGRP_ND_USEROPT)?;
        Ok(Self { socket })
    }

    /// The next options with the interface's index.
    ///
    /// # Errors
    /// Fails if the kernel reports an error of the socket.
    pub async fn next(&mut self) -> io::Result<(u32, Advertised)> {
        loop {
            let (message, _) = self.socket.recv_from_full().await?;
            if let Some(advertised) = parse_message(&message) {
                return Ok(advertised);
            }
        }
    }
}

/// Parses one netlink message; `None` for anything but options.
fn parse_message(message: &[u8]) -> Option<(u32, Advertised)> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    if kind != RTM_NEWNDUSEROPT {
        return None;
    }
    let header = message.get(NETLINK_HEADER..NETLINK_HEADER + USER_OPTION_HEADER)?;
    let length = usize::from(u16::from_ne_bytes([header[2], header[3]]));
    let index = u32::from_ne_bytes(header[4..8].try_into().ok()?);
    let start = NETLINK_HEADER + USER_OPTION_HEADER;
    let options = message.get(start..start + length)?;
    Some((index, parse_options(options)))
}

/// Parses neighbour discovery options; broken and unknown ones are skipped.
fn parse_options(mut options: &[u8]) -> Advertised {
    let mut advertised = Advertised::default();
    // type, length in units of 8 bytes, 2 reserved, 4 lifetime, then the values
    while let [kind, units, ..] = *options {
        let length = usize::from(units) * 8;
        let Some(option) = options.get(..length).filter(|option| option.len() >= 8) else {
            break;
        };
        let withdrawn = option[4..8] == [0; 4];
        match kind {
            OPTION_RDNSS => {
                let servers = option[8..].as_chunks::<16>().0;
                if !servers.is_empty() {
                    let usable = servers
                        .iter()
                        .map(|bytes| Ipv6Addr::from(*bytes))
                        .filter(|one| !withdrawn && usable(*one))
                        .map(IpAddr::V6);
                    advertised.name_servers.get_or_insert_default().extend(usable);
                }
            }
            OPTION_DNSSL => {
                let domains = domains(&option[8..]);
                if !domains.is_empty() {
                    let present = domains.into_iter().filter(|_| !withdrawn);
                    advertised.search.get_or_insert_default().extend(present);
                }
            }
            _ => {}
        }
        options = &options[length..];
    }
    advertised
}

/// DNS names in wire format without compression, padded with zeros.
pub(super) fn domains(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut labels: Vec<String> = Vec::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let length = usize::from(length);
        if length == 0 {
            if let Some(name) = domain(&labels.join(".")) {
                names.push(name);
            }
            labels.clear();
        }
        let Some(label) = rest.get(..length) else { break };
        if length > 0 {
            labels.push(String::from_utf8_lossy(label).into_owned());
        }
        bytes = &rest[length..];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(options: &[u8]) -> Vec<u8> {
        let mut message = vec![0; 32];
        message[4..6].copy_from_slice(&RTM_NEWNDUSEROPT.to_ne_bytes());
        message[18..20].copy_from_slice(&u16::try_from(options.len()).unwrap().to_ne_bytes());
        message[20..24].copy_from_slice(&3u32.to_ne_bytes());
        message.extend_from_slice(options);
        message
    }

    fn rdnss(lifetime: u32, server: &str) -> Vec<u8> {
        let mut option = vec![OPTION_RDNSS, 3, 0, 0];
        option.extend(lifetime.to_be_bytes());
        option.extend(server.parse::<Ipv6Addr>().unwrap().octets());
        option
    }

    #[test]
    fn servers_and_domains_are_read() {
        let mut options = rdnss(600, "fd00::3");
        options.extend([OPTION_DNSSL, 3, 0, 0, 0, 0, 2, 88]);
        options.extend(b"\x03lab\x07example\0\0\0\0");
        let (index, advertised) = parse_message(&message(&options)).unwrap();
        assert_eq!(index, 3);
        assert_eq!(advertised.name_servers, Some(vec!["fd00::3".parse().unwrap()]));
        assert_eq!(advertised.search, Some(vec!["lab.example".to_owned()]));
    }

    #[test]
    fn withdrawn_and_link_local_servers_are_not_used() {
        for option in [rdnss(0, "fd00::3"), rdnss(600, "fe80::1")] {
            assert_eq!(parse_options(&option).name_servers, Some(Vec::new()));
        }
    }

    #[test]
    fn options_that_come_one_by_one_add_up() {
        let mut dnssl = vec![OPTION_DNSSL, 3, 0, 0, 0, 0, 2, 88];
        dnssl.extend(b"\x03lab\x07example\0\0\0\0");
        let captive_portal = [37, 1, 0, 0, 0, 0, 0, 0].to_vec();
        let mut configuration = Configuration::default();
        for options in [rdnss(600, "fd00::3"), dnssl, captive_portal] {
            parse_options(&options).merge_into(&mut configuration);
        }
        assert_eq!(configuration.name_servers, ["fd00::3".parse::<IpAddr>().unwrap()]);
        assert_eq!(configuration.search, ["lab.example"]);
        parse_options(&rdnss(0, "fd00::3")).merge_into(&mut configuration);
        assert!(configuration.name_servers.is_empty());
        assert_eq!(configuration.search, ["lab.example"]);
    }

    #[test]
    fn broken_options_do_no_harm() {
        let whole = message(&rdnss(600, "fd00::3"));
        for end in 0..whole.len() {
            assert!(parse_message(&whole[..end]).is_none());
        }
        for bytes in [
            &[25, 0, 0, 0, 0, 0, 0, 0][..],
            &[25, 255, 1],
            &[31, 1, 0, 0, 0, 0, 0, 1],
            &[31, 2, 0, 0, 0, 0, 0, 1, 63, 65, 0, 0, 0, 0, 0, 0],
        ] {
            assert_eq!(parse_options(bytes), Advertised::default());
        }
    }
}
