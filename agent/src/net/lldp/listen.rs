//! Listens on one card.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use muster_api::inventory::SwitchPort;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::debug;

use super::{Lldpdu, parse};
use crate::net::ethernet::{Mac, PacketSocket};

const ETHERTYPE: u16 = 0x88cc;
/// The group of the nearest bridge, which no switch forwards.
const NEAREST_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);
const LONGEST_PACKET: usize = 1600;
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// Longest time that a packet can hold: 18 hours.
const LONGEST: Duration = Duration::from_secs(u16::MAX as u64);

/// Between two changes of one card that are published: the link partner decides how many there are.
const INTERVAL: Duration = Duration::from_secs(10);

/// The ports of cards, by the cards' indices, as last published; `None`: the switch advertises no more.
pub type NeighborPorts = BTreeMap<u32, Option<SwitchPort>>;

/// Listens on the card of that index and name for ever. `told_at`: of the last change of it that was published.
pub async fn listen(index: u32, nic: String, told_at: Option<Instant>, ports: watch::Sender<NeighborPorts>) {
    let mut told = Told {
        port: None,
        at: told_at,
    };
    loop {
        let error = match hear(index, &nic, &mut told, &ports).await {
            Ok(never) => match never {},
            Err(error) => error,
        };
        debug!(nic, "LLDP is not received: {error}");
        if error.kind() == io::ErrorKind::Unsupported {
            // The interface is no Ethernet card.
            return std::future::pending().await;
        }
        // A card that becomes a port of a bond goes down for that.
        told.tell(index, &None, &ports);
        sleep(RETRY_INTERVAL).await;
    }
}

/// The last published state of a card, and when it was published.
struct Told {
    port: Option<SwitchPort>,
    at: Option<Instant>,
}

impl Told {
    /// Time at which `port` is to be published; `None`: it was.
    fn due(&self, port: &Option<SwitchPort>) -> Option<Instant> {
        let last = self.at.map(|at| at + INTERVAL);
        (*port != self.port).then(|| last.unwrap_or_else(Instant::now))
    }

    fn tell(&mut self, index: u32, port: &Option<SwitchPort>, ports: &watch::Sender<NeighborPorts>) {
        if *port == self.port {
            return;
        }
        self.port.clone_from(port);
        self.at = Some(Instant::now());
        ports.send_modify(|ports| {
            ports.insert(index, port.clone());
        });
    }
}

async fn hear(
    index: u32,
    nic: &str,
    told: &mut Told,
    ports: &watch::Sender<NeighborPorts>,
) -> io::Result<Infallible> {
    let socket = PacketSocket::open(nic, ETHERTYPE)?;
    socket.join(NEAREST_BRIDGE)?;
    let mut buffer = [0; LONGEST_PACKET];
    let mut known = Known::default();
    loop {
        let due = told.due(&known.port);
        let until = due.map_or(known.holds_until, |due| due.min(known.holds_until));
        match timeout_at(until, socket.receive(&mut buffer)).await {
            Ok(length) => known.take(parse(&buffer[..length?])),
            Err(_) => known.expire(),
        }
        if told.due(&known.port).is_some_and(|due| due <= Instant::now()) {
            told.tell(index, &known.port, ports);
        }
    }
}

/// The port that holds now.
struct Known {
    port: Option<SwitchPort>,
    holds_until: Instant,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            port: None,
            holds_until: Instant::now() + LONGEST,
        }
    }
}

impl Known {
    fn take(&mut self, lldpdu: Option<Lldpdu>) {
        let Some(lldpdu) = lldpdu else { return };
        // Behind a switch without LLDP there may be several neighbors: the first one counts while it sends.
        let is_another = self
            .port
            .as_ref()
            .is_some_and(|known| !is_same_port(known, &lldpdu.port));
        if is_another && Instant::now() < self.holds_until {
            return;
        }
        match lldpdu.ttl {
            0 => *self = Self::default(),
            ttl => {
                self.holds_until = Instant::now() + Duration::from_secs(ttl.into());
                self.port = Some(lldpdu.port);
            }
        }
    }

    fn expire(&mut self) {
        if Instant::now() >= self.holds_until {
            *self = Self::default();
        }
    }
}

fn is_same_port(one: &SwitchPort, other: &SwitchPort) -> bool {
    (&one.switch, &one.port) == (&other.switch, &other.port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lldpdu(vlan: u16, ttl: u16) -> Option<Lldpdu> {
        let port = SwitchPort {
            switch: "sw1".into(),
            port: "1".into(),
            native_vlan: vlan,
            ..SwitchPort::default()
        };
        Some(Lldpdu { port, ttl })
    }

    #[tokio::test(start_paused = true)]
    async fn a_switch_that_changes_its_mind_all_the_time_is_told_every_ten_seconds_as_it_is_then() {
        let (ports, mut told_ports) = watch::channel(NeighborPorts::default());
        let mut told = Told { port: None, at: None };
        let mut known = Known::default();
        let mut seen = Vec::new();
        for step in 0..1000 {
            known.take(lldpdu(step, 120));
            if told.due(&known.port).is_some_and(|due| due <= Instant::now()) {
                told.tell(7, &known.port, &ports);
            }
            if told_ports.has_changed().unwrap() {
                let ports = told_ports.borrow_and_update().clone();
                seen.push(ports[&7].clone().unwrap().native_vlan);
            }
            sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(seen, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_port_holds_while_its_switch_speaks_and_until_it_takes_it_back() {
        let mut known = Known::default();
        known.take(lldpdu(1, 30));
        let mut other = lldpdu(2, 30);
        other.as_mut().unwrap().port.switch = "sw2".into();
        known.take(other.clone());
        assert_eq!(known.port.as_ref().unwrap().switch, "sw1");
        sleep(Duration::from_secs(31)).await;
        known.expire();
        assert_eq!(known.port, None);
        known.take(other);
        assert_eq!(known.port.as_ref().unwrap().switch, "sw2");
        known.take(None);
        let mut back = lldpdu(2, 0);
        back.as_mut().unwrap().port.switch = "sw2".into();
        known.take(back);
        assert_eq!(known.port, None);
    }
}
