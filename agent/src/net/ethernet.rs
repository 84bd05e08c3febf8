//! Ethernet below IP: addresses of cards, and sockets for packets of one protocol on one link.

mod mac;
mod packet_socket;
mod sockets;

pub use mac::Mac;
pub use packet_socket::PacketSocket;
pub(crate) use sockets::watched;
