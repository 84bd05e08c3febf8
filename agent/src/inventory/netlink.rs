//! Reads links, addresses and routes through rtnetlink.
//!
//! A dump is kept as the kernel's own bytes (base64 in a capture) and parsed separately. A message that
//! cannot be parsed is left out; the others count. If that is the message of a link, the link is read from sysfs instead.

mod from_sysfs;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoBondPort, InfoPortData, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use crate::root::{Operation, ProbeError, Root};

/// Attempts at a dump that changes while it is read.
const MAX_TRIES: usize = 5;
/// The kernel fills at most 32 KiB per datagram.
const DATAGRAM_BYTES: usize = 64 << 10;
const NLM_F_DUMP_INTR: u16 = 0x10;
/// Place of the index in a message about a link: after the header, the family, a blank and the type.
const IFINFO_INDEX: std::ops::Range<usize> = 20..24;

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    /// Present hardware address; 6 octets, 20 on InfiniBand, none on some.
    pub address: Vec<u8>,
    /// The address from before it joined a bond.
    pub bond_permanent_address: Option<Vec<u8>>,
    /// Bytes.
    pub mtu: u32,
    /// `up broadcast loopback pointtopoint multicast running`, in this order.
    pub flags: Vec<&'static str>,
    /// `bond`, `vlan`, ...; `None` when the kernel names no kind.
    pub kind: Option<String>,
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// Index of the link.
    pub link: u32,
    pub ip: IpAddr,
    /// Prefix length, bits.
    pub prefix: u8,
}

/// A route of the main table.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Network address; unspecified for the default route.
    pub destination: IpAddr,
    /// Prefix length, bits.
    pub prefix: u8,
    /// Next hop, the first one of several.
    pub gateway: Option<IpAddr>,
    /// Index of the link.
    pub link: Option<u32>,
    /// Lower is preferred.
    pub metric: u32,
    /// Learned from a router advertisement.
    pub from_router_advertisement: bool,
}

pub(crate) use from_sysfs::links_of_sysfs;

/// The interfaces of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Links {
    /// In order of index.
    pub all: Vec<Link>,
    /// Names of interfaces that had to be read from sysfs, and why.
    pub filled: Vec<(String, ProbeError)>,
}

/// The interfaces.
///
/// # Errors
/// Fails if the kernel does not return the links.
pub fn links(root: &Root) -> Result<Links, ProbeError> {
    let dump = dump(
        root,
        "netlink.links",
        RouteNetlinkMessage::GetLink(LinkMessage::default()),
    )?;
    let (mut all, unreadable) = parse_links(&dump);
    let mut filled = Vec::new();
    if !unreadable.is_empty() {
        for link in links_of_sysfs(root) {
            if let Some(reason) = unreadable.get(&link.index) {
                filled.push((link.name.clone(), reason.clone()));
                all.push(link);
            }
        }
    }
    all.sort_by_key(|link| link.index);
    Ok(Links { all, filled })
}

/// The addresses of one family, in the kernel's order (the primary address of a link first).
pub fn addresses(root: &Root, family: AddressFamily) -> Result<Vec<Address>, ProbeError> {
    let mut request = AddressMessage::default();
    request.header.family = family;
    let key = match family {
        AddressFamily::Inet => "netlink.addresses4",
        _ => "netlink.addresses6",
    };
    Ok(parse_addresses(&dump(
        root,
        key,
        RouteNetlinkMessage::GetAddress(request),
    )?))
}

/// The routes of the main table of one family, in the kernel's order.
pub fn routes(root: &Root, family: AddressFamily) -> Result<Vec<Route>, ProbeError> {
    let mut request = RouteMessage::default();
    request.header.address_family = family;
    let key = match family {
        AddressFamily::Inet => "netlink.routes4",
        _ => "netlink.routes6",
    };
    Ok(parse_routes(&dump(
        root,
        key,
        RouteNetlinkMessage::GetRoute(request),
    )?))
}

fn dump(root: &Root, key: &str, request: RouteNetlinkMessage) -> Result<Vec<u8>, ProbeError> {
    let text: String = root.probe(key, || {
        ask(request)
            .map(|bytes| STANDARD.encode(bytes))
            .map_err(ProbeError::failed(Operation::Command, "rtnetlink"))
    })?;
    STANDARD.decode(text).map_err(|error| ProbeError::Captured {
        key: key.to_owned(),
        fault: format!("is no base64: {error}"),
    })
}

/// All messages of a dump, one after the other, without the closing one.
fn ask(request: RouteNetlinkMessage) -> io::Result<Vec<u8>> {
    let mut last = io::Error::other("no answer");
    for _ in 0..MAX_TRIES {
        match ask_once(request.clone()) {
            Ok(messages) => return Ok(messages),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn ask_once(request: RouteNetlinkMessage) -> io::Result<Vec<u8>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_DUMP | NLM_F_REQUEST;
    header.sequence_number = 1;
    let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(request));
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    socket.send(&bytes, 0)?;

    let mut messages = Vec::new();
    let mut datagram = vec![0_u8; DATAGRAM_BYTES];
    loop {
        let size = socket.recv(&mut &mut datagram[..], 0)?;
        if size == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        for message in split(&datagram[..size]) {
            let kind = u16::from_ne_bytes([message[4], message[5]]);
            let flags = u16::from_ne_bytes([message[6], message[7]]);
            if flags & NLM_F_DUMP_INTR != 0 {
                return Err(io::Error::from(io::ErrorKind::Interrupted));
            }
            match i32::from(kind) {
                libc::NLMSG_DONE => return Ok(messages),
                libc::NLMSG_ERROR => {
                    let code = message.get(16..20).and_then(|bytes| bytes.try_into().ok());
                    return Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(
                        code.unwrap_or_default(),
                    )));
                }
                _ => messages.extend_from_slice(message),
            }
        }
    }
}

/// The messages in a run of bytes; bytes after a broken length are left out.
fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        if length < 16 || length > rest.len() {
            return None;
        }
        let message = &rest[..length];
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

fn parse(bytes: &[u8]) -> impl Iterator<Item = RouteNetlinkMessage> {
    split(bytes).filter_map(|message| {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message).ok()?;
        match message.payload {
            NetlinkPayload::InnerMessage(inner) => Some(inner),
            _ => None,
        }
    })
}

/// The links, and the reasons against links with a message that cannot be parsed, by index: an attribute of another length than the
/// crate knows makes the whole message unreadable.
fn parse_links(bytes: &[u8]) -> (Vec<Link>, BTreeMap<u32, ProbeError>) {
    let (mut links, mut unreadable) = (Vec::new(), BTreeMap::new());
    for message in split(bytes) {
        match NetlinkMessage::<RouteNetlinkMessage>::deserialize(message).map(|message| message.payload) {
            Ok(NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(message))) => {
                links.extend(Some(link(message)).filter(|link| !link.name.is_empty()));
            }
            Ok(_) => {}
            Err(error) => {
                if let Some(index) = message.get(IFINFO_INDEX).and_then(|bytes| bytes.try_into().ok()) {
                    let text = format!("read from sysfs, for netlink's message cannot be parsed: {error}");
                    unreadable.insert(u32::from_ne_bytes(index), ProbeError::value(text));
                }
            }
        }
    }
    (links, unreadable)
}

fn link(message: LinkMessage) -> Link {
    let names = [
        (LinkFlags::Up, "up"),
        (LinkFlags::Broadcast, "broadcast"),
        (LinkFlags::Loopback, "loopback"),
        (LinkFlags::Pointopoint, "pointtopoint"),
        (LinkFlags::Multicast, "multicast"),
        (LinkFlags::Running, "running"),
    ];
    let mut link = Link {
        index: message.header.index,
        flags: names
            .into_iter()
            .filter(|(flag, _)| message.header.flags.contains(*flag))
            .map(|(_, name)| name)
            .collect(),
        ..Link::default()
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Address(address) => link.address = address,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::LinkInfo(infos) => read_info(&mut link, infos),
            _ => {}
        }
    }
    link
}

fn read_info(link: &mut Link, infos: Vec<LinkInfo>) {
    for info in infos {
        match info {
            LinkInfo::Kind(kind) => link.kind = Some(kind.to_string()),
            LinkInfo::PortData(InfoPortData::BondPort(port)) => {
                link.bond_permanent_address = port.into_iter().find_map(|item| match item {
                    InfoBondPort::PermHwaddr(address) => Some(address),
                    _ => None,
                });
            }
            _ => {}
        }
    }
}

fn parse_addresses(bytes: &[u8]) -> Vec<Address> {
    parse(bytes)
        .filter_map(|message| match message {
            RouteNetlinkMessage::NewAddress(message) => address(&message),
            _ => None,
        })
        .collect()
}

/// On a point-to-point link `Address` is the peer's, and `Local` is this host's.
fn address(message: &AddressMessage) -> Option<Address> {
    let find = |wanted: fn(&AddressAttribute) -> Option<IpAddr>| message.attributes.iter().find_map(wanted);
    let local = find(|attribute| match attribute {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    });
    let ip = local.or_else(|| {
        find(|attribute| match attribute {
            AddressAttribute::Address(ip) => Some(*ip),
            _ => None,
        })
    })?;
    Some(Address {
        link: message.header.index,
        ip,
        prefix: message.header.prefix_len,
    })
}

fn parse_routes(bytes: &[u8]) -> Vec<Route> {
    parse(bytes)
        .filter_map(|message| match message {
            RouteNetlinkMessage::NewRoute(message) => route(&message),
            _ => None,
        })
        .collect()
}

/// `None` for another table and for cached (cloned) routes.
fn route(message: &RouteMessage) -> Option<Route> {
    let table = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::Table(table) => Some(*table),
            _ => None,
        })
        .unwrap_or(u32::from(message.header.table));
    if table != u32::from(RouteHeader::RT_TABLE_MAIN) || message.header.flags.contains(RouteFlags::Cloned) {
        return None;
    }
    let unspecified = match message.header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let mut route = Route {
        destination: unspecified,
        prefix: message.header.destination_prefix_length,
        gateway: None,
        link: None,
        metric: 0,
        from_router_advertisement: message.header.protocol == RouteProtocol::Ra,
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(destination) => route.destination = ip(destination)?,
            RouteAttribute::Priority(metric) => route.metric = *metric,
            RouteAttribute::MultiPath(hops) => {
                if let Some(hop) = hops.first() {
                    route.link = Some(hop.interface_index);
                    read_next_hop(&mut route, &hop.attributes);
                }
            }
            _ => read_next_hop(&mut route, std::slice::from_ref(attribute)),
        }
    }
    Some(route)
}

fn read_next_hop(route: &mut Route, attributes: &[RouteAttribute]) {
    for attribute in attributes {
        match attribute {
            RouteAttribute::Gateway(gateway) => route.gateway = ip(gateway),
            RouteAttribute::Oif(index) => route.link = Some(*index),
            _ => {}
        }
    }
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some(IpAddr::V4(*ip)),
        RouteAddress::Inet6(ip) => Some(IpAddr::V6(*ip)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
