//! Opens raw ICMP and ICMPv6 sockets. (The kernel's datagram kind would need a group range that systems leave
//! closed.)

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, SockaddrIn6, recvfrom, sendto,
    setsockopt, socket, sockopt,
};
use rustix::net::sockopt as rustix_sockopt;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::net::ethernet::watched;

/// Room for the replies of a sweep that come in one burst.
const RECEIVE_BUFFER: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// A socket that sends and receives every ICMP message of its family.
#[derive(Debug)]
pub struct IcmpSocket {
    fd: AsyncFd<OwnedFd>,
    family: Family,
}

impl IcmpSocket {
    /// Opens a socket, bound to a card if one is named. Packets are never fragmented: one too long for the
    /// path is lost.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket; `PermissionDenied` without CAP_NET_RAW.
    pub fn open(family: Family, nic: Option<&str>) -> io::Result<Self> {
        let (domain, protocol) = match family {
            Family::V4 => (AddressFamily::Inet, SockProtocol::Icmp),
            Family::V6 => (AddressFamily::Inet6, SockProtocol::IcmpV6),
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(domain, SockType::Raw, flags, protocol)?;
        if let Some(nic) = nic {
            setsockopt(&fd, sockopt::BindToDevice, &OsString::from(nic))?;
        }
        // PROBE: sets "don't fragment" and ignores the kernel's cached path MTU.
        match family {
            Family::V4 => {
                rustix_sockopt::set_ip_mtu_discover(&fd, rustix::net::sockopt::Ipv4PathMtuDiscovery::PROBE)?;
            }
            Family::V6 => {
                rustix_sockopt::set_ipv6_mtu_discover(
                    &fd,
                    rustix::net::sockopt::Ipv6PathMtuDiscovery::PROBE,
                )?;
                setsockopt(&fd, sockopt::Ipv6DontFrag, &true)?;
            }
        }
        // A smaller buffer is only slower.
        let _ = setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_BUFFER);
        Ok(Self {
            fd: watched(fd)?,
            family,
        })
    }

    /// Opens a send-only socket for neighbour discovery, with the hop limit that RFC 4861 §7.1.1 demands.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket.
    pub fn for_neighbour_discovery(nic: &str) -> io::Result<Self> {
        let socket = Self::open(Family::V6, Some(nic))?;
        let fd = socket.fd.get_ref();
        setsockopt(fd, sockopt::Ipv6Ttl, &255)?;
        setsockopt(fd, sockopt::Ipv6MulticastHops, &255)?;
        rustix_sockopt::set_ipv6_multicast_loop(fd, false)?;
        Ok(socket)
    }

    /// Sends one message; the kernel fills in the checksum of ICMPv6.
    ///
    /// # Errors
    /// Fails if there is no route, or if the message is longer than the card's MTU.
    pub async fn send(&self, to: IpAddr, message: &[u8]) -> io::Result<()> {
        let send = |fd: &OwnedFd| {
            let fd = fd.as_raw_fd();
            let sent = match to {
                IpAddr::V4(ip) => sendto(
                    fd,
                    message,
                    &SockaddrIn::from(SocketAddrV4::new(ip, 0)),
                    MsgFlags::empty(),
                ),
                IpAddr::V6(ip) => sendto(
                    fd,
                    message,
                    &SockaddrIn6::from(SocketAddrV6::new(ip, 0, 0, 0)),
                    MsgFlags::empty(),
                ),
            };
            Ok(sent?)
        };
        self.fd.async_io(Interest::WRITABLE, send).await.map(drop)
    }

    /// Waits for a message; returns its sender and its place in `buffer`.
    ///
    /// # Errors
    /// Fails if the kernel reports an error of the socket.
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<(IpAddr, Range<usize>)> {
        self.fd
            .async_io(Interest::READABLE, |fd| self.receive_now(fd, buffer))
            .await
    }

    fn receive_now(&self, fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<(IpAddr, Range<usize>)> {
        let no_sender = || io::Error::other("a message without sender");
        match self.family {
            Family::V4 => {
                let (length, from) = recvfrom::<SockaddrIn>(fd.as_raw_fd(), buffer)?;
                // IPv4 raw sockets deliver the IP header too.
                let header = usize::from(buffer.first().copied().unwrap_or(0) & 0x0f) * 4;
                let from = SocketAddr::from(SocketAddrV4::from(from.ok_or_else(no_sender)?));
                Ok((from.ip(), header.min(length)..length))
            }
            Family::V6 => {
                let (length, from) = recvfrom::<SockaddrIn6>(fd.as_raw_fd(), buffer)?;
                let from = SocketAddr::from(SocketAddrV6::from(from.ok_or_else(no_sender)?));
                Ok((from.ip(), 0..length))
            }
        }
    }
}
