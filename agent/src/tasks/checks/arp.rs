//! Finds the owners of IPv4 addresses by ARP requests (RFC 826), those of this host's own addresses by ARP probes (RFC 5227).

use std::io;
use std::net::Ipv4Addr;

use etherparse::{ArpEthIpv4Packet, ArpOperation, ArpPacketSlice};
use ipnet::Ipv4Net;

use super::nics::Nic;
use crate::net::ethernet::{Mac, PacketSocket};

/// EtherType of ARP.
const ETHERTYPE: u16 = 0x0806;
/// Longer than any ARP packet with the padding of its frame.
const LONGEST: usize = 128;

/// Sends requests on one network card.
#[derive(Debug)]
pub struct Arp {
    socket: PacketSocket,
    networks: Vec<Ipv4Net>,
}

impl Arp {
    /// Opens a socket on the card.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket; `Unsupported` for a card that is not Ethernet.
    pub fn open(nic: &Nic) -> io::Result<Self> {
        Ok(Self {
            socket: PacketSocket::open(&nic.name, ETHERTYPE)?,
            networks: nic.v4.clone(),
        })
    }

    /// Broadcasts a request for `target`.
    ///
    /// # Errors
    /// Fails if the kernel refuses the packet.
    pub async fn ask(&self, target: Ipv4Addr) -> io::Result<()> {
        let own = self.socket.own_mac();
        let question = request(own, self.sender(target), target);
        self.socket.send(Mac::BROADCAST, &question.to_bytes()).await
    }

    /// Returns the sender's address for a request for `target`. It is unspecified if `target` is an address of this host: another host
    /// with this address would ignore a request that seems to come from itself.
    fn sender(&self, target: Ipv4Addr) -> Ipv4Addr {
        let near = self.networks.iter().find(|net| net.contains(&target));
        match near.map(Ipv4Net::addr) {
            Some(own) if !self.networks.iter().any(|net| net.addr() == target) => own,
            _ => Ipv4Addr::UNSPECIFIED,
        }
    }

    /// Waits for the next reply to this host, from any host, about any address.
    ///
    /// # Errors
    /// Fails if the kernel reports an error of the socket.
    pub async fn answer(&self) -> io::Result<(Ipv4Addr, Mac)> {
        let mut buffer = [0; LONGEST];
        loop {
            let length = self.socket.receive(&mut buffer).await?;
            if let Some(answer) = read_reply(&buffer[..length], self.socket.own_mac()) {
                return Ok(answer);
            }
        }
    }
}

fn request(own: Mac, sender: Ipv4Addr, target: Ipv4Addr) -> ArpEthIpv4Packet {
    ArpEthIpv4Packet {
        operation: ArpOperation::REQUEST,
        sender_mac: own.0,
        sender_ipv4: sender.octets(),
        target_mac: [0; 6],
        target_ipv4: target.octets(),
    }
}

/// The address and its claimed owner, if this is a reply to `own` from another host.
fn read_reply(bytes: &[u8], own: Mac) -> Option<(Ipv4Addr, Mac)> {
    let packet = ArpPacketSlice::from_slice(bytes).ok()?.to_packet();
    let reply = packet.try_eth_ipv4().ok()?;
    let sender = Mac(reply.sender_mac);
    let ours = reply.operation == ArpOperation::REPLY && reply.target_mac == own.0 && sender != own;
    ours.then(|| (reply.sender_ipv4_addr(), sender))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const THEIRS: Mac = Mac([2, 0, 0, 0, 0, 2]);

    /// A request as arping sent it, recorded with tcpdump.
    const RECORDED_REQUEST: &str = "0001080006040001020000000001c0a8070a000000000000c0a80714";

    #[test]
    fn a_request_has_the_bytes_of_the_standard() {
        let question = request(
            OURS,
            Ipv4Addr::new(192, 168, 7, 10),
            Ipv4Addr::new(192, 168, 7, 20),
        );
        assert_eq!(hex::encode(question.to_bytes()), RECORDED_REQUEST);
    }

    fn reply() -> ArpEthIpv4Packet {
        ArpEthIpv4Packet {
            operation: ArpOperation::REPLY,
            sender_mac: THEIRS.0,
            sender_ipv4: [10, 0, 0, 2],
            target_mac: OURS.0,
            target_ipv4: [10, 0, 0, 1],
        }
    }

    #[test]
    fn a_reply_to_us_names_address_and_owner_even_with_padding() {
        let mut bytes = reply().to_bytes().to_vec();
        bytes.extend([0; 18]);
        assert_eq!(
            read_reply(&bytes, OURS),
            Some((Ipv4Addr::new(10, 0, 0, 2), THEIRS))
        );
    }

    #[test]
    fn questions_replies_to_others_echoes_of_ours_and_rubbish_are_passed_over() {
        let question = ArpEthIpv4Packet {
            operation: ArpOperation::REQUEST,
            ..reply()
        };
        let to_another = ArpEthIpv4Packet {
            target_mac: [2, 0, 0, 0, 0, 9],
            ..reply()
        };
        let own = ArpEthIpv4Packet {
            sender_mac: OURS.0,
            ..reply()
        };
        for packet in [question, to_another, own] {
            assert_eq!(read_reply(&packet.to_bytes(), OURS), None);
        }
        let whole = reply().to_bytes();
        for length in 0..whole.len() {
            assert_eq!(read_reply(&whole[..length], OURS), None);
        }
        assert_eq!(read_reply(&[0xff; 128], OURS), None);
    }
}
