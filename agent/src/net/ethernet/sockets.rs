//! Adds to sockets what nix and tokio offer only through unsafe code.

#![expect(
    unsafe_code,
    reason = "nix has no safe way to make a link-layer address and to join a group, tokio none to watch a descriptor"
)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{LinkAddr, SockaddrLike};
use tokio::io::unix::AsyncFd;

use super::mac::Mac;

/// Registers a socket with tokio. Needs a tokio runtime.
///
/// # Errors
/// Fails if the kernel refuses to watch the socket.
pub(crate) fn watched(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` owns a valid descriptor, which stays open and the same while `AsyncFd` has it.
    unsafe { Ok(AsyncFd::register(socket)?) }
}

/// Makes a link let packets to a group through to a packet socket.
///
/// # Errors
/// Fails if the kernel refuses the membership.
pub(super) fn join(socket: &impl AsRawFd, index: i32, group: Mac) -> io::Result<()> {
    let [a, b, c, d, e, f] = group.0;
    let membership = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_MULTICAST as libc::c_ushort,
        mr_alen: 6,
        mr_address: [a, b, c, d, e, f, 0, 0],
    };
    // SAFETY: the pointer is to a whole `packet_mreq`, its length is passed, and it lives until the call returns.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            std::ptr::from_ref(&membership).cast(),
            size_of::<libc::packet_mreq>() as libc::socklen_t,
        )
    };
    nix::errno::Errno::result(answer)?;
    Ok(())
}

/// A station of a link; `protocol` is an EtherType.
pub(super) fn link_address(index: i32, protocol: u16, mac: Mac) -> LinkAddr {
    let [a, b, c, d, e, f] = mac.0;
    let raw = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [a, b, c, d, e, f, 0, 0],
    };
    // SAFETY: the pointer is to a whole `sockaddr_ll`, its length is passed, and it lives until the call returns.
    let address = unsafe {
        LinkAddr::from_raw(
            std::ptr::from_ref(&raw).cast(),
            Some(size_of::<libc::sockaddr_ll>() as libc::socklen_t),
        )
    };
    address.expect("family and length are those of a link-layer address")
}
