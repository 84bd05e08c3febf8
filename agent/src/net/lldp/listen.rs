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
pub struct Heard {
    /// Of the card.
    pub index: u32,
    pub port: Option<SwitchPort>,
}

/// Listens on the card of that index and name: for ever, unless it is no Ethernet card.
pub async fn listen(index: u32, nic: String, heard: UnboundedSender<Heard>) {
    loop {
        let error = match hear(index, &nic, &heard).await {
            Ok(never) => match never {},
            Err(error) => error,
        };
        debug!(nic, "LLDP is not heard: {error}");
        if error.kind() == io::ErrorKind::Unsupported {
            return;
        }
        // A card that becomes a port of a bond goes down for that.
        let _ = heard.send(Heard { index, port: None });
        sleep(RETRY_INTERVAL).await;
    }
}

async fn hear(index: u32, nic: &str, heard: &UnboundedSender<Heard>) -> io::Result<Infallible> {
    let socket = PacketSocket::open(nic, ETHERTYPE)?;
    socket.join(NEAREST_BRIDGE)?;
    let mut buffer = [0; LONGEST_PACKET];
    let mut known = None;
    let mut holds_until = Instant::now() + LONGEST;
    loop {
        let port = match timeout_at(holds_until, socket.receive(&mut buffer)).await {
            Ok(length) => {
                let Some(told) = parse(&buffer[..length?]) else {
                    continue;
                };
                holds_until = Instant::now() + Duration::from_secs(told.seconds.into());
                (told.seconds > 0).then_some(told.port)
            }
            Err(_) => None,
        };
        if port.is_none() {
            holds_until = Instant::now() + LONGEST;
        }
        if port != known {
            known.clone_from(&port);
            // It fails only when the network's manager has ended.
            let _ = heard.send(Heard { index, port });
        }
    }
}
