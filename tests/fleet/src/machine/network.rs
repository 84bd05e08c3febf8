//! The network of a machine: 200 machines share a segment of 10.0.0.0/8 with the gateway `.1`.

use std::net::Ipv4Addr;

use muster_api::inventory::{Interface, Route, SwitchPort};
use rand::RngExt;

use super::Machine;

/// Machines of one segment.
const PER_SEGMENT: u32 = 200;

/// The address of the machine in its segment, and that of its BMC in the segment above.
fn address(machine: Machine, plane: u32) -> Ipv4Addr {
    let (segment, host) = (machine.number() / PER_SEGMENT, machine.number() % PER_SEGMENT);
    let [high, low] = [segment >> 6, segment & 0x3f].map(|byte| u8::try_from(byte & 0xff).unwrap_or(0));
    let plane = u8::try_from(plane).unwrap_or(0);
    Ipv4Addr::new(10, high + plane * 64, low, u8::try_from(host + 10).unwrap_or(10))
}

fn gateway(address: Ipv4Addr) -> Ipv4Addr {
    let [a, b, c, _] = address.octets();
    Ipv4Addr::new(a, b, c, 1)
}

fn network(address: Ipv4Addr) -> Ipv4Addr {
    let [a, b, c, _] = address.octets();
    Ipv4Addr::new(a, b, c, 0)
}

pub fn bmc_address(machine: Machine) -> String {
    address(machine, 2).to_string()
}

/// Machines of one rack, which has two switches at its top.
pub const PER_RACK: u32 = 40;

/// The other end of a card's cable: the first two cards of a machine that is none of a hypervisor, one at each switch of
/// the rack.
fn switch_port(machine: Machine, nth: u32) -> Option<SwitchPort> {
    let switch = match nth {
        0 => "a",
        1 => "b",
        _ => return None,
    };
    let (rack, place) = (machine.number() / PER_RACK, machine.number() % PER_RACK);
    (!machine.model().is_virtual).then(|| SwitchPort {
        switch: format!("tor{rack:03}-{switch}"),
        port: format!("Ethernet1/{}", place + 1),
        native_vlan: 100,
        ..SwitchPort::default()
    })
}

/// Locally administered, and different from all others of the fleet.
fn mac(machine: Machine, nth: u32) -> String {
    let number = machine.number().to_be_bytes();
    let [.., of_seed] = machine.seed.to_be_bytes();
    format!(
        "02:{of_seed:02x}:{:02x}:{:02x}:{:02x}:{nth:02x}",
        number[1], number[2], number[3]
    )
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// All interfaces, `lo` first. The first card has the address, or a bond of the first two has it.
pub fn interfaces(machine: Machine) -> Vec<Interface> {
    let model = machine.model();
    let mut random = machine.random(5);
    let count = random.random_range(1..=model.nics);
    let bonded = count >= 2 && !model.is_virtual && random.random_ratio(1, 4);
    let has_storage_network = count >= 3 && random.random_ratio(1, 3);
    let dual_stack = random.random_ratio(1, 5);
    let address_of = |plane| format!("{}/24", address(machine, plane));
    let main = |interface: &mut Interface| {
        interface.ipv4_addresses = vec![address_of(0)];
        if dual_stack {
            let [_, b, c, d] = address(machine, 0).octets();
            interface.ipv6_addresses = vec![format!("2001:db8:{b:x}:{c:x}::{d:x}/64")];
        }
    };
    let mut all = vec![loopback()];
    for nth in 0..count {
        let mut card = card(machine, nth);
        card.has_carrier = nth < 3;
        if nth == 0 && !bonded {
            main(&mut card);
        }
        if nth == 2 && has_storage_network {
            card.ipv4_addresses = vec![address_of(1)];
            card.mtu = 9000;
        }
        all.push(card);
    }
    if bonded {
        let mut bond = Interface {
            name: "bond0".into(),
            kind: "bond".into(),
            flags: texts(&["up", "broadcast", "multicast", "running"]),
            has_carrier: true,
            mac_address: mac(machine, 0),
            mtu: 1500,
            speed_mbps: model.nic.2.saturating_mul(2),
            ..Interface::default()
        };
        main(&mut bond);
        all.push(bond);
    }
    all
}

fn loopback() -> Interface {
    Interface {
        flags: texts(&["up", "loopback", "running"]),
        has_carrier: true,
        ipv4_addresses: texts(&["127.0.0.1/8"]),
        ipv6_addresses: texts(&["::1/128"]),
        mtu: 65_536,
        name: "lo".into(),
        kind: "device".into(),
        ..Interface::default()
    }
}

fn card(machine: Machine, nth: u32) -> Interface {
    let model = machine.model();
    let (vendor, product, speed) = model.nic;
    let name = if nth == 0 {
        model.nic_name.to_owned()
    } else {
        format!("{}d{nth}", model.nic_name)
    };
    Interface {
        flags: texts(&["up", "broadcast", "multicast", "running"]),
        mac_address: mac(machine, nth),
        mtu: 1500,
        name,
        product: product.into(),
        speed_mbps: speed,
        kind: "physical".into(),
        switch_port: switch_port(machine, nth),
        vendor: vendor.into(),
        ..Interface::default()
    }
}

/// A default route by the interface with the address, and a route to the network of each.
pub fn routes(machine: Machine, interfaces: &[Interface]) -> Vec<Route> {
    let main = address(machine, 0);
    let of_main = interfaces
        .iter()
        .find(|interface| interface.ipv4_addresses.contains(&format!("{main}/24")));
    let default = of_main.map(|interface| Route {
        destination: "0.0.0.0".into(),
        family: 2,
        gateway: gateway(main).to_string(),
        interface: interface.name.clone(),
        metric: 100,
    });
    let others = interfaces.iter().filter(|interface| interface.name != "lo");
    let others = others.filter_map(|interface| {
        let first = interface.ipv4_addresses.first()?.split('/').next()?;
        Some(Route {
            destination: network(first.parse().ok()?).to_string(),
            family: 2,
            gateway: String::new(),
            interface: interface.name.clone(),
            metric: 100,
        })
    });
    default.into_iter().chain(others).collect()
}
