//! Receives what switches advertise about the ports that this machine is plugged into (LLDP, IEEE 802.1AB; VLANs by annex D of it).

mod listen;

use muster_api::inventory::SwitchPort;

pub use listen::{NeighborPorts, listen};

/// Longest name that is kept, characters.
const LONGEST: usize = 64;
const END: u8 = 0;
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TIME_TO_LIVE: u8 = 3;
const PORT_DESCRIPTION: u8 = 4;
const SYSTEM_NAME: u8 = 5;
const ORGANIZATION: u8 = 127;
/// IEEE 802.1.
const IEEE_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
const PORT_VLAN: u8 = 1;
const VLAN_NAME: u8 = 3;
const CHASSIS_MAC: u8 = 4;
const PORT_MAC: u8 = 3;

/// One LLDP packet (LLDPDU).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lldpdu {
    pub port: SwitchPort,
    /// Time to live, seconds; 0: the switch takes it back.
    pub ttl: u16,
}

/// Parses a packet without its Ethernet header; `None` unless it names switch, port and time.
pub fn parse(mut packet: &[u8]) -> Option<Lldpdu> {
    let (mut chassis, mut port_id, mut ttl) = (None, None, None);
    let (mut system_name, mut description) = (String::new(), String::new());
    let mut port = SwitchPort::default();
    // Of a header the upper 7 bits are the kind, the lower 9 the length.
    while let [first, second, rest @ ..] = packet {
        let (kind, length) = (first >> 1, usize::from(first & 1) << 8 | usize::from(*second));
        let value = rest.get(..length)?;
        packet = &rest[length..];
        match (kind, value) {
            (END, _) => break,
            (CHASSIS, [sort, id @ ..]) => chassis = Some(name(*sort == CHASSIS_MAC, id)),
            (PORT, [sort, id @ ..]) => port_id = Some((*sort == PORT_MAC, name(*sort == PORT_MAC, id))),
            (TIME_TO_LIVE, [a, b, ..]) => ttl = Some(u16::from_be_bytes([*a, *b])),
            (PORT_DESCRIPTION, text) => description = name(false, text),
            (SYSTEM_NAME, text) => system_name = name(false, text),
            (ORGANIZATION, [a, b, c, sort, a_vlan, b_vlan, ..]) if [*a, *b, *c] == IEEE_802_1 => {
                let vlan = u16::from_be_bytes([*a_vlan, *b_vlan]);
                match *sort {
                    PORT_VLAN => port.native_vlan = vlan,
                    VLAN_NAME => port.tagged_vlans.push(vlan),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    port.switch = Some(system_name).filter(|name| !name.is_empty()).or(chassis)?;
    let (is_mac, id) = port_id?;
    // An address describes the port less well than a description.
    port.port = if is_mac && !description.is_empty() {
        description
    } else {
        id
    };
    port.tagged_vlans.retain(|vlan| *vlan != port.native_vlan);
    port.tagged_vlans.sort_unstable();
    port.tagged_vlans.dedup();
    Some(Lldpdu { port, ttl: ttl? })
}

/// A name that fits on a screen: text, an address, or bytes.
fn name(is_mac: bool, bytes: &[u8]) -> String {
    let hex = || {
        let parts: Vec<String> = bytes
            .iter()
            .take(LONGEST / 3)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        parts.join(":")
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if !is_mac && !text.chars().any(char::is_control) => {
            text.trim().chars().take(LONGEST).collect()
        }
        _ => hex(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: u8, value: &[u8]) -> Vec<u8> {
        let header = u16::from(kind) << 9 | u16::try_from(value.len()).unwrap();
        [&header.to_be_bytes()[..], value].concat()
    }

    fn vlan_name(vlan: u16, name: &str) -> Vec<u8> {
        let [a, b] = vlan.to_be_bytes();
        let length = u8::try_from(name.len()).unwrap();
        [&[0x00, 0x80, 0xc2, VLAN_NAME, a, b, length], name.as_bytes()].concat()
    }

    fn packet(parts: &[Vec<u8>]) -> Vec<u8> {
        [&parts.concat()[..], &[0, 0], b"padding"].concat()
    }

    fn mandatory() -> [Vec<u8>; 3] {
        [
            part(CHASSIS, &[CHASSIS_MAC, 0x02, 0, 0, 0, 0, 0xfe]),
            part(PORT, b"\x05Gi1/0/12"),
            part(TIME_TO_LIVE, &[0, 120]),
        ]
    }

    #[test]
    fn a_switch_tells_its_name_port_and_vlans() {
        let mut parts = mandatory().to_vec();
        parts.extend([
            part(PORT_DESCRIPTION, b"to rack 7"),
            part(SYSTEM_NAME, b"sw1"),
            part(ORGANIZATION, &[0x00, 0x80, 0xc2, PORT_VLAN, 0, 1]),
            part(ORGANIZATION, &vlan_name(200, "storage")),
            part(ORGANIZATION, &vlan_name(1, "default")),
            part(ORGANIZATION, &vlan_name(100, "")),
            part(ORGANIZATION, &[0x00, 0x12, 0x0f, 1, 3, 0x6c, 0, 0, 0x10]),
        ]);
        let parsed = parse(&packet(&parts)).unwrap();
        assert_eq!(parsed.ttl, 120);
        assert_eq!(
            parsed.port.to_string(),
            "switch sw1 port Gi1/0/12, native VLAN 1, tagged 100, 200"
        );
    }

    #[test]
    fn a_switch_without_names_is_told_by_its_addresses() {
        let parsed = parse(&packet(&mandatory())).unwrap();
        assert_eq!(parsed.port.to_string(), "switch 02:00:00:00:00:fe port Gi1/0/12");
        let by_mac = [
            part(CHASSIS, b"\x07sw\x1b[2J"),
            part(PORT, &[PORT_MAC, 2, 0, 0, 0, 0, 1]),
            part(TIME_TO_LIVE, &[0, 0]),
        ];
        let parsed = parse(&packet(&by_mac)).unwrap();
        assert_eq!(parsed.port.port, "02:00:00:00:00:01");
        assert_eq!(parsed.port.switch, "73:77:1b:5b:32:4a", "no control characters");
        let described = [by_mac.concat(), part(PORT_DESCRIPTION, b"swp1")];
        assert_eq!(parse(&packet(&described)).unwrap().port.port, "swp1");
    }

    #[test]
    fn broken_packets_are_skipped() {
        let whole = packet(&mandatory());
        let parts = mandatory().concat().len();
        for end in 0..parts {
            assert_eq!(parse(&whole[..end]), None, "cut off after {end} bytes");
        }
        assert!(parse(&whole[..parts]).is_some());
    }
}
