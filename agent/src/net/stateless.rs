//! Stateless DHCPv6: if routers give addresses and announce that DHCPv6 has the rest (the O flag), name servers, search domains and time
//! sources are requested by Information-request. Source: RFC 8415, §18.2.6 and §21; mozim has no such request.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::{info, warn};

use super::configuration::{Configuration, usable};
use super::dhcp::{Family, LeaseEvent, Nic};
use super::router_options::domains;

const CLIENT_PORT: u16 = 546;
const SERVER_PORT: u16 = 547;
/// `All_DHCP_Relay_Agents_and_Servers`
const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

const INFORMATION_REQUEST: u8 = 11;
const REPLY: u8 = 7;

const CLIENT_ID: u16 = 1;
const REQUESTED: u16 = 6;
const ELAPSED: u16 = 8;
const NAME_SERVERS: u16 = 23;
const DOMAINS: u16 = 24;
const REFRESH: u16 = 32;
/// RFC 5908: sub-options, of which 1 is an address.
const NTP: u16 = 56;
const NTP_ADDRESS: u16 = 1;

/// `DUID-LL` of Ethernet.
const DUID_LL: [u8; 4] = [0, 3, 0, 1];

/// Wait for the first response; doubles up to [`LAST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LAST_WAIT: Duration = Duration::from_secs(60);
/// `IRT_DEFAULT` and `IRT_MINIMUM`: time until the next request.
const USUAL_REFRESH: Duration = Duration::from_secs(86_400);
const SHORTEST_REFRESH: Duration = Duration::from_secs(600);
/// Delay before it restarts after an error.
const AFTER_ERROR: Duration = Duration::from_secs(3);
const DATAGRAM_BYTES: usize = 1500;

/// Sends requests for ever. `link_local` must be past duplicate detection.
pub async fn keep(nic: Nic, link_local: Ipv6Addr, events: mpsc::Sender<LeaseEvent>) {
    loop {
        if let Err(error) = ask_again(&nic, link_local, &events).await {
            warn!(nic = nic.name, "stateless DHCPv6: {error}");
        }
        tokio::time::sleep(AFTER_ERROR).await;
    }
}

async fn ask_again(nic: &Nic, link_local: Ipv6Addr, events: &mpsc::Sender<LeaseEvent>) -> io::Result<()> {
    let socket = UdpSocket::bind(SocketAddrV6::new(link_local, CLIENT_PORT, 0, nic.index)).await?;
    loop {
        let answer = ask(&socket, nic).await?;
        info!(nic = nic.name, servers = ?answer.configuration.name_servers, "stateless DHCPv6");
        // The receiver normally outlives its interfaces' tasks; otherwise the event is not needed.
        let _ = events
            .send(nic.event(Family::V6, Some(answer.configuration), String::new()))
            .await;
        tokio::time::sleep(answer.refresh).await;
    }
}

/// The first response to a request, which is repeated until there is one.
async fn ask(socket: &UdpSocket, nic: &Nic) -> io::Result<Answer> {
    let transaction: [u8; 3] = rand::random();
    let to = SocketAddrV6::new(SERVERS, SERVER_PORT, 0, nic.index);
    let request = request(transaction, &nic.mac);
    let mut wait = FIRST_WAIT;
    loop {
        socket.send_to(&request, to).await?;
        if let Ok(answer) = timeout(wait, answer(socket, transaction)).await {
            return answer;
        }
        wait = (wait * 2).min(LAST_WAIT);
    }
}

async fn answer(socket: &UdpSocket, transaction: [u8; 3]) -> io::Result<Answer> {
    let mut datagram = [0; DATAGRAM_BYTES];
    loop {
        let length = socket.recv(&mut datagram).await?;
        if let Some(answer) = read(&datagram[..length], transaction) {
            return Ok(answer);
        }
    }
}

fn request(transaction: [u8; 3], mac: &[u8]) -> Vec<u8> {
    let mut message = vec![INFORMATION_REQUEST];
    message.extend(transaction);
    let mut option = |code: u16, data: &[u8]| {
        message.extend(code.to_be_bytes());
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(data);
    };
    option(CLIENT_ID, &[&DUID_LL[..], mac].concat());
    let requested = [NAME_SERVERS, DOMAINS, REFRESH, NTP].map(u16::to_be_bytes);
    option(REQUESTED, requested.as_flattened());
    option(ELAPSED, &[0, 0]);
    message
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    configuration: Configuration,
    refresh: Duration,
}

/// `None` for anything but the reply to this request.
fn read(message: &[u8], transaction: [u8; 3]) -> Option<Answer> {
    let (header, rest) = message.split_first_chunk::<4>()?;
    if header[0] != REPLY || header[1..] != transaction {
        return None;
    }
    let mut answer = Answer {
        configuration: Configuration::default(),
        refresh: USUAL_REFRESH,
    };
    let configuration = &mut answer.configuration;
    for (code, data) in options(rest) {
        match code {
            NAME_SERVERS => {
                let servers = addresses(data).filter(|server| usable(*server));
                configuration.name_servers.extend(servers.map(IpAddr::V6));
            }
            DOMAINS => configuration.search.extend(domains(data)),
            NTP => {
                let sources = options(data).filter(|(kind, _)| *kind == NTP_ADDRESS);
                let sources = sources.flat_map(|(_, data)| addresses(data));
                configuration
                    .ntp
                    .extend(sources.map(|address| address.to_string()));
            }
            REFRESH => {
                if let Ok(seconds) = <[u8; 4]>::try_from(data) {
                    let seconds = u32::from_be_bytes(seconds);
                    answer.refresh =
                        Duration::from_secs(seconds.into()).clamp(SHORTEST_REFRESH, USUAL_REFRESH);
                }
            }
            _ => {}
        }
    }
    Some(answer)
}

/// Code and data of each; those after a broken length are left out.
fn options(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_first_chunk::<4>()?;
        let code = u16::from_be_bytes([header[0], header[1]]);
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let data = rest.get(..length)?;
        bytes = &rest[length..];
        Some((code, data))
    })
}

fn addresses(data: &[u8]) -> impl Iterator<Item = Ipv6Addr> {
    data.as_chunks::<16>()
        .0
        .iter()
        .map(|bytes| Ipv6Addr::from(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSACTION: [u8; 3] = [1, 2, 3];

    fn reply(options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = vec![REPLY, 1, 2, 3];
        for (code, data) in options {
            message.extend(code.to_be_bytes());
            message.extend((data.len() as u16).to_be_bytes());
            message.extend(*data);
        }
        message
    }

    #[test]
    fn a_request_has_the_bytes_of_the_standard() {
        let expected = concat!(
            "0b010203",
            "0001000a00030001525400aa0001",
            "000600080017001800200038",
            "000800020000",
        );
        let mac = [0x52, 0x54, 0, 0xaa, 0, 1];
        assert_eq!(hex::encode(request(TRANSACTION, &mac)), expected);
    }

    #[test]
    fn servers_domains_and_time_are_read_and_the_refresh_is_kept_within_limits() {
        let server: Ipv6Addr = "fd91::1".parse().unwrap();
        let both = [server.octets(), "fe80::1".parse::<Ipv6Addr>().unwrap().octets()].concat();
        let ntp = [&[0, 1, 0, 16][..], &server.octets()].concat();
        let message = reply(&[
            (2, &[0, 3, 0, 1]),
            (NAME_SERVERS, &both),
            (DOMAINS, b"\x03lab\x07example\0"),
            (NTP, &ntp),
            (REFRESH, &[0, 0, 0, 5]),
        ]);
        let answer = read(&message, TRANSACTION).unwrap();
        assert_eq!(answer.configuration.name_servers, [IpAddr::V6(server)]);
        assert_eq!(answer.configuration.search, ["lab.example"]);
        assert_eq!(answer.configuration.ntp, ["fd91::1"]);
        assert_eq!(answer.refresh, SHORTEST_REFRESH);
        assert!(answer.configuration.addresses.is_empty());
    }

    #[test]
    fn answers_to_others_and_rubbish_are_passed_over() {
        let whole = reply(&[(NAME_SERVERS, &[0; 16])]);
        assert_eq!(read(&whole, [9, 9, 9]), None);
        let advertise = [&[2][..], &whole[1..]].concat();
        assert_eq!(read(&advertise, TRANSACTION), None);
        for end in 0..whole.len() {
            let found = read(&whole[..end], TRANSACTION);
            assert!(found.is_none_or(|answer| answer.configuration == Configuration::default()));
        }
    }
}
