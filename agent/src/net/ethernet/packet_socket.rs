//! Sends and receives packets of one protocol on one link, below IP: AF_PACKET sockets, for which the kernel
//! writes and reads the Ethernet header.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, bind, recvfrom, sendto, socket,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::mac::Mac;
use super::sockets::{join, link_address, watched};

#[derive(Debug)]
pub struct PacketSocket {
    fd: AsyncFd<OwnedFd>,
    index: i32,
    protocol: u16,
    own: Mac,
}

impl PacketSocket {
    /// Opens a socket; `protocol` is an EtherType. Needs CAP_NET_RAW and a tokio runtime.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket; `Unsupported` for a card that is not Ethernet.
    pub fn open(nic: &str, protocol: u16) -> io::Result<Self> {
        let index = nix::net::if_::if_nametoindex(nic)?;
        let index = i32::try_from(index).map_err(io::Error::other)?;
        // Protocol 0 receives nothing until the socket is bound, so no packets come from other cards.
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
        bind(fd.as_raw_fd(), &link_address(index, protocol, Mac([0; 6])))?;
        let own = own_mac(nic)?
            .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "this is no Ethernet card"))?;
        Ok(Self {
            fd: watched(fd)?,
            index,
            protocol,
            own,
        })
    }

    /// Receives packets to this group as well.
    ///
    /// # Errors
    /// Fails if the kernel refuses the membership.
    pub fn join(&self, group: Mac) -> io::Result<()> {
        join(&self.fd, self.index, group)
    }

    pub fn own_mac(&self) -> Mac {
        self.own
    }

    /// # Errors
    /// Fails if the kernel refuses the packet.
    pub async fn send(&self, to: Mac, packet: &[u8]) -> io::Result<()> {
        let to = link_address(self.index, self.protocol, to);
        self.fd
            .async_io(Interest::WRITABLE, |fd| {
                Ok(sendto(fd.as_raw_fd(), packet, &to, MsgFlags::empty())?)
            })
            .await
            .map(drop)
    }

    /// Waits for a packet; returns its length in `buffer`.
    ///
    /// # Errors
    /// Fails if the kernel reports an error of the socket.
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fd
            .async_io(Interest::READABLE, |fd| {
                Ok(recvfrom::<LinkAddr>(fd.as_raw_fd(), buffer)?.0)
            })
            .await
    }
}

/// The card's present MAC, if it has one of six bytes. (`getsockname` would return it, but nix refuses an
/// address as short as the kernel's.)
fn own_mac(nic: &str) -> io::Result<Option<Mac>> {
    let mut stations = nix::ifaddrs::getifaddrs()?.filter(|one| one.interface_name == nic);
    Ok(stations.find_map(|one| {
        let link = *one.address.as_ref()?.as_link_addr()?;
        link.addr().filter(|_| link.halen() == 6).map(Mac)
    }))
}
