//! Finds the owners of IPv6 addresses: neighbour solicitation (RFC 4861).

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use super::icmp_socket::IcmpSocket;
use super::nics::Nic;
use crate::net::ethernet::{Mac, PacketSocket};

const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
const SOURCE_LINK_ADDRESS: u8 = 1;
const TARGET_LINK_ADDRESS: u8 = 2;
/// Type, code, checksum, four bytes of flags, target: before the options.
const FIXED: usize = 24;
const OPTION_UNIT: usize = 8;
/// Longer than an Ethernet frame.
const LONGEST: usize = 2048;
/// EtherType of IPv6.
const ETHERTYPE: u16 = 0x86dd;

/// Sends solicitations on one network card.
#[derive(Debug)]
pub struct Ndp {
    socket: IcmpSocket,
    own: Mac,
}

impl Ndp {
    /// Opens a socket on the card.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket; `Unsupported` for a card that is not Ethernet.
    pub fn open(nic: &Nic) -> io::Result<Self> {
        let own = PacketSocket::open(&nic.name, ETHERTYPE)?.own_mac();
        let socket = IcmpSocket::for_neighbour_discovery(&nic.name)?;
        Ok(Self { socket, own })
    }

    /// Solicits `target` on the link.
    ///
    /// # Errors
    /// Fails if the kernel refuses the packet.
    pub async fn ask(&self, target: Ipv6Addr) -> io::Result<()> {
        let to = IpAddr::V6(solicited_node(target));
        self.socket.send(to, &solicitation(target, self.own)).await
    }

    /// Waits for the next advertisement, from any host, about any address.
    ///
    /// # Errors
    /// Fails if the kernel reports an error of the socket.
    pub async fn answer(&self) -> io::Result<(Ipv6Addr, Mac)> {
        let mut buffer = [0; LONGEST];
        loop {
            let (_, place) = self.socket.receive(&mut buffer).await?;
            let answer = buffer.get(place).and_then(read_advertisement);
            if let Some(answer) = answer.filter(|(_, mac)| *mac != self.own) {
                return Ok(answer);
            }
        }
    }
}

/// The destination of a solicitation: ff02::1:ff and the last three bytes (RFC 4291 §2.7.1).
fn solicited_node(target: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = target.octets();
    let high = 0xff00 | u16::from(a);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, high, u16::from_be_bytes([b, c]))
}

fn solicitation(target: Ipv6Addr, own: Mac) -> Vec<u8> {
    let mut message = vec![NEIGHBOUR_SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
    message.extend(target.octets());
    message.extend([SOURCE_LINK_ADDRESS, 1]);
    message.extend(own.0);
    message
}

/// The address and its owner, if this is an advertisement that names both.
fn read_advertisement(message: &[u8]) -> Option<(Ipv6Addr, Mac)> {
    if message.first() != Some(&NEIGHBOUR_ADVERTISEMENT) || message.get(1) != Some(&0) {
        return None;
    }
    let target: [u8; 16] = message.get(8..FIXED)?.try_into().ok()?;
    let mut options = message.get(FIXED..)?;
    loop {
        let length = usize::from(*options.get(1)?) * OPTION_UNIT;
        let option = options.get(..length).filter(|option| !option.is_empty())?;
        if option[0] == TARGET_LINK_ADDRESS {
            return Some((target.into(), Mac::from_slice(option.get(2..8)?)?));
        }
        options = &options[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = Mac([2, 0, 0, 0, 0, 0x17]);

    fn target() -> Ipv6Addr {
        "fd00:7::12:3456".parse().unwrap()
    }

    fn advertisement() -> Vec<u8> {
        let mut message = vec![NEIGHBOUR_ADVERTISEMENT, 0, 0xab, 0xcd, 0x60, 0, 0, 0];
        message.extend(target().octets());
        message
    }

    #[test]
    fn a_solicitation_goes_to_the_group_of_its_target_and_names_who_asks() {
        assert_eq!(solicited_node(target()).to_string(), "ff02::1:ff12:3456");
        assert_eq!(
            hex::encode(solicitation(target(), MAC)),
            "8700000000000000fd000007000000000000000000123456_0101020000000017".replace('_', "")
        );
    }

    #[test]
    fn an_advertisement_names_its_owner_behind_any_options() {
        let mut message = advertisement();
        message.extend([14, 1, 0, 0, 0, 0, 0, 0]); // a nonce
        message.extend([TARGET_LINK_ADDRESS, 1]);
        message.extend(MAC.0);
        assert_eq!(read_advertisement(&message), Some((target(), MAC)));
        for length in 0..message.len() {
            assert_eq!(read_advertisement(&message[..length]), None, "cut at {length}");
        }
    }

    #[test]
    fn an_advertisement_without_owner_and_an_option_of_no_length_name_no_machine() {
        assert_eq!(read_advertisement(&advertisement()), None);
        let mut endless = advertisement();
        endless.extend([0; 64]);
        assert_eq!(read_advertisement(&endless), None);
        assert_eq!(read_advertisement(&solicitation(target(), MAC)), None);
    }
}
