//! The DHCP client of a machine without a system, on a network card: shows servers' offers without a boot.
//!
//! Its packets are RFC 2131 with the options of docs/protocol/ipxe.md#6.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};

use super::{Segment, ip};

/// Far above the time of servers, which is 3 seconds if one checks that the address is free.
const LIMIT: Duration = Duration::from_secs(120);
/// A lost packet is sent again after this time.
const AGAIN: Duration = Duration::from_secs(4);

const SERVER_PORT: u16 = 67;
const CLIENT_PORT: u16 = 68;
/// Port of boot servers next to DHCP (proxyDHCP).
const BOOT_SERVER_PORT: u16 = 4011;

const DISCOVER: u8 = 1;
const OFFER: u8 = 2;
const REQUEST: u8 = 3;
const ACK: u8 = 5;

const OPTION_KIND: u8 = 53;
const OPTION_SERVER: u8 = 54;
const OPTION_CLASS: u8 = 60;
const OPTION_BOOT_FILE: u8 = 67;
const END: u8 = 255;

/// The fixed part of a packet, and the cookie after it.
const HEAD: usize = 240;
const COOKIE: [u8; 4] = [99, 130, 83, 99];

/// The program that runs the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// PXE of BIOS firmware.
    Bios,
    /// PXE of UEFI firmware.
    Uefi,
    /// iPXE that UEFI firmware loaded.
    IpxeOfUefi,
}

impl Stage {
    /// The client architecture (option 93).
    fn architecture(self) -> u16 {
        match self {
            Self::Bios => 0,
            Self::Uefi | Self::IpxeOfUefi => 7,
        }
    }
}

/// A response of a server.
#[derive(Debug, Clone)]
pub struct DhcpAnswer {
    /// The client's address; 0.0.0.0: none is assigned.
    pub address: Ipv4Addr,
    /// The server to load from; 0.0.0.0: it is not named.
    pub next_server: Ipv4Addr,
    /// The file or URL to load; empty: none.
    pub boot_file: String,
    options: BTreeMap<u8, Vec<u8>>,
}

impl DhcpAnswer {
    /// The server that responds.
    ///
    /// # Panics
    /// If the response does not name it, which is mandatory.
    #[track_caller]
    pub fn server(&self) -> Ipv4Addr {
        let value = self.options.get(&OPTION_SERVER).map(Vec::as_slice);
        let bytes: [u8; 4] = value
            .and_then(|value| value.try_into().ok())
            .expect("a server names itself");
        bytes.into()
    }

    /// True if firmware accepts it as a response about booting.
    pub fn is_for_pxe(&self) -> bool {
        let class = self.options.get(&OPTION_CLASS);
        class.is_some_and(|class| class.starts_with(b"PXEClient"))
    }

    /// A response of this kind to the packet with that id.
    fn read(packet: &[u8], id: u32, kind: u8) -> Option<Self> {
        let head = packet.get(..HEAD)?;
        let is_answer = head[0] == 2 && head[4..8] == id.to_be_bytes() && head[236..] == COOKIE;
        let mut options = BTreeMap::<u8, Vec<u8>>::new();
        let mut rest = &packet[HEAD..];
        while let [code, after @ ..] = rest {
            if *code == END {
                break;
            }
            rest = after;
            if *code != 0 {
                let (length, after) = rest.split_first()?;
                let value = after.get(..usize::from(*length))?;
                options.entry(*code).or_default().extend(value);
                rest = &after[value.len()..];
            }
        }
        if !is_answer || options.get(&OPTION_KIND)?.as_slice() != [kind] {
            return None;
        }
        let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]);
        let text = |bytes: &[u8]| {
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let boot_file = options
            .get(&OPTION_BOOT_FILE)
            .map_or(&head[108..236], Vec::as_slice);
        Some(Self {
            address: address(16),
            next_server: address(20),
            boot_file: text(boot_file),
            options,
        })
    }
}

/// The client, on a card of a network namespace of its own.
pub struct PxeClient {
    socket: UdpSocket,
    mac: [u8; 6],
    card: String,
    next_id: u32,
}

impl Segment {
    /// Plugs in a network card with that MAC and runs `ask` with its client.
    ///
    /// # Panics
    /// If `ask` does.
    #[track_caller]
    pub fn pxe_client<T: Send>(&mut self, mac: [u8; 6], ask: impl FnOnce(&mut PxeClient) -> T + Send) -> T {
        let port = format!("port{}", self.taps);
        self.taps += 1;
        let card = format!("nic{}", self.taps);
        let (ready, started) = mpsc::channel();
        let (plugged, go_on) = mpsc::channel();
        let result = std::thread::scope(|scope| {
            let own = card.clone();
            let thread = scope.spawn(move || {
                unshare(CloneFlags::CLONE_NEWNET).expect("a segment was made so, too");
                ready.send(nix::unistd::gettid()).expect("the other thread waits");
                go_on.recv().expect("the card is plugged in");
                ask(&mut PxeClient::on(&own, mac))
            });
            let namespace = started.recv().expect("the thread starts").to_string();
            let address = mac.map(|byte| format!("{byte:02x}")).join(":");
            ip(&[
                "link", "add", &port, "type", "veth", "peer", "name", &card, "address", &address, "netns",
                &namespace,
            ]);
            ip(&["link", "set", &port, "master", "br0", "up"]);
            plugged.send(()).expect("the thread waits");
            thread.join()
        });
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl PxeClient {
    fn on(card: &str, mac: [u8; 6]) -> Self {
        ip(&["link", "set", card, "up"]);
        // Without an address the kernel has no route for broadcasts.
        ip(&["route", "add", "255.255.255.255", "dev", card]);
        let open = || -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, CLIENT_PORT))?;
            socket.set_broadcast(true)?;
            socket.set_read_timeout(Some(AGAIN))?;
            Ok(socket)
        };
        Self {
            socket: open().unwrap_or_else(|error| panic!("no socket on {card}: {error}")),
            mac,
            card: card.to_owned(),
            next_id: 1,
        }
    }

    /// Requests offers from all servers; returns the first that is `wanted`.
    ///
    /// # Panics
    /// If there is none, with the received ones.
    #[track_caller]
    pub fn offer(&mut self, stage: Stage, wanted: impl Fn(&DhcpAnswer) -> bool) -> DhcpAnswer {
        let to = (Ipv4Addr::BROADCAST, SERVER_PORT);
        self.exchange(stage, (DISCOVER, OFFER), Ipv4Addr::UNSPECIFIED, to, wanted)
    }

    /// Sets the address of an offer, as if the server had confirmed it.
    pub fn take(&self, offer: &DhcpAnswer) {
        let address = format!("{}/24", offer.address);
        ip(&["address", "add", &address, "dev", &self.card]);
    }

    /// Requests a boot file from the boot server of an offer, from an address that was [set](Self::take).
    ///
    /// # Panics
    /// If it does not respond.
    #[track_caller]
    pub fn boot_server(&mut self, stage: Stage, from: Ipv4Addr, offer: &DhcpAnswer) -> DhcpAnswer {
        let to = (offer.server(), BOOT_SERVER_PORT);
        self.exchange(stage, (REQUEST, ACK), from, to, |_| true)
    }

    #[track_caller]
    fn exchange(
        &mut self,
        stage: Stage,
        (asked, answered): (u8, u8),
        from: Ipv4Addr,
        to: (Ipv4Addr, u16),
        wanted: impl Fn(&DhcpAnswer) -> bool,
    ) -> DhcpAnswer {
        let id = self.next_id;
        self.next_id += 1;
        let packet = self.packet(stage, asked, id, from);
        let (end, mut others) = (Instant::now() + LIMIT, Vec::new());
        while Instant::now() < end {
            let sent = self.socket.send_to(&packet, to);
            sent.unwrap_or_else(|error| panic!("{to:?}: {error}"));
            let mut buffer = [0; 2048];
            while let Ok(length) = self.socket.recv(&mut buffer) {
                match DhcpAnswer::read(&buffer[..length], id, answered) {
                    Some(answer) if wanted(&answer) => return answer,
                    Some(other) => others.push(other),
                    None => {}
                }
            }
        }
        panic!(
            "no such answer from {to:?} in {} s, but {others:#?}",
            LIMIT.as_secs()
        );
    }

    fn packet(&self, stage: Stage, kind: u8, id: u32, from: Ipv4Addr) -> Vec<u8> {
        let mut packet = vec![1, 1, 6, 0];
        packet.extend(id.to_be_bytes());
        // Responses are broadcast as long as there is no address.
        let flags: u16 = if from.is_unspecified() { 0x8000 } else { 0 };
        packet.extend([0, 0]);
        packet.extend(flags.to_be_bytes());
        packet.extend(from.octets());
        packet.resize(28, 0);
        packet.extend(self.mac);
        packet.resize(HEAD - COOKIE.len(), 0);
        packet.extend(COOKIE);
        let mut option = |code: u8, value: &[u8]| {
            let length = u8::try_from(value.len()).expect("options here are short");
            packet.extend([code, length]);
            packet.extend(value);
        };
        let architecture = stage.architecture();
        option(OPTION_KIND, &[kind]);
        // Mask, router, names, vendor's, class, TFTP server, boot file.
        option(55, &[1, 3, 6, 12, 43, OPTION_CLASS, 66, OPTION_BOOT_FILE]);
        option(57, &1472_u16.to_be_bytes());
        option(
            OPTION_CLASS,
            format!("PXEClient:Arch:{architecture:05}:UNDI:003000").as_bytes(),
        );
        option(93, &architecture.to_be_bytes());
        option(94, &[1, 3, 0]);
        let mut uuid = [7; 17];
        uuid[0] = 0;
        option(97, &uuid);
        if stage == Stage::IpxeOfUefi {
            option(77, b"iPXE");
            // One of its features: HTTP.
            option(175, &[19, 1, 1]);
        }
        packet.push(END);
        packet
    }
}
