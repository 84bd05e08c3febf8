//! A listening socket and what its connections may take.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::connections::Connections;

/// Connections that the kernel completes before they are accepted. The standard library's 128 overflow when a room of machines is
/// switched on at once, and each overflow costs its client a second. The kernel lowers it to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// A bound socket, and what its connections may take.
#[derive(Debug)]
pub struct Listener {
    /// Not blocking.
    pub tcp: TcpListener,
    /// Places for its connections.
    pub connections: Connections,
    /// Bytes that the head of a request may have.
    pub longest_head: usize,
}

impl Listener {
    /// Listens at an address.
    ///
    /// # Errors
    /// If the address is in use or not of this computer.
    pub fn bind(address: SocketAddr, connections: Connections, longest_head: usize) -> io::Result<Self> {
        let tcp = bind(address)?;
        Ok(Self {
            tcp,
            connections,
            longest_head,
        })
    }
}

/// Every address of both families is every IPv4 address where the kernel has no IPv6.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let is_every = address.is_ipv6() && address.ip().is_unspecified();
    match bind_exactly(address) {
        Err(error) if is_every && lacks_family(&error) => {
            bind_exactly(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
        }
        bound => bound,
    }
}

/// `EAFNOSUPPORT`, or `EADDRNOTAVAIL` where IPv6 is switched off for all interfaces.
fn lacks_family(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(AF_NOT_SUPPORTED)
}

/// Source: `asm-generic/errno.h`.
const AF_NOT_SUPPORTED: i32 = 97;

fn bind_exactly(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // As the standard library does: a restart need not wait until the kernel has forgotten the last connections.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
