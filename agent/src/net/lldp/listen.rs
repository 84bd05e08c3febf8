//! Listens on one card.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use muster_api::inventory::SwitchPort;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::debug;

use super::parse;
use crate::checks::mac::Mac;
use crate::checks::packet_socket::PacketSocket;

const ETHERTYPE: u16 = 0x88cc;
/// The group of the nearest bridge, which no switch forwards.
const NEAREST_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);
const LONGEST_PACKET: usize = 1600;
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// Longest time that a packet can hold: 18 hours.
const LONGEST: Duration = Duration::from_secs(u16::MAX as u64);

/// The port of a card is another, or is not told any more.
#[derive(Debug)]
pub struct NeighborChange {
    /// Of the card.
    pub index: u32,
    pub port: Option<SwitchPort>,
}

/// Listens on the card of that index and name: for ever, unless it is no Ethernet card.
pub async fn listen(index: u32, nic: String, changes: UnboundedSender<NeighborChange>) {
    loop {
        let error = match hear(index, &nic, &changes).await {
            Ok(never) => match never {},
            Err(error) => error,
        };
        debug!(nic, "LLDP is not heard: {error}");
        if error.kind() == io::ErrorKind::Unsupported {
            return;
        }
        // A card that becomes a port of a bond goes down for that.
        let _ = changes.send(NeighborChange { index, port: None });
        sleep(RETRY_INTERVAL).await;
    }
}

async fn hear(index: u32, nic: &str, changes: &UnboundedSender<NeighborChange>) -> io::Result<Infallible> {
    let socket = PacketSocket::open(nic, ETHERTYPE)?;
    socket.join(NEAREST_BRIDGE)?;
    let mut buffer = [0; LONGEST_PACKET];
    let mut known: Option<SwitchPort> = None;
    let mut holds_until = Instant::now() + LONGEST;
    loop {
        let port = match timeout_at(holds_until, socket.receive(&mut buffer)).await {
            Ok(length) => {
                let Some(lldpdu) = parse(&buffer[..length?]) else {
                    continue;
                };
                // Behind a switch without LLDP there may be several neighbors: the first one counts while it speaks.
                let is_another = known
                    .as_ref()
                    .is_some_and(|known| !is_same_port(known, &lldpdu.port));
                if is_another && Instant::now() < holds_until {
                    continue;
                }
                holds_until = Instant::now() + Duration::from_secs(lldpdu.ttl.into());
                (lldpdu.ttl > 0).then_some(lldpdu.port)
            }
            Err(_) => None,
        };
        if port.is_none() {
            holds_until = Instant::now() + LONGEST;
        }
        if port != known {
            known.clone_from(&port);
            // It fails only when the network's manager has ended.
            let _ = changes.send(NeighborChange { index, port });
        }
    }
}

fn is_same_port(one: &SwitchPort, other: &SwitchPort) -> bool {
    (&one.switch, &one.port) == (&other.switch, &other.port)
}
