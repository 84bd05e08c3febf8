//! Repeated boots of machines with many kinds of cards, bonds, bridges and VLANs: no boot loses a card, however late
//! its driver is loaded.

use muster_api::infra_env::InfraEnv;
use muster_api::inventory::Inventory;
use muster_tests::condition::await_condition;
use muster_tests::qemu::{MACHINE_LIMIT, Machine, Medium, Nic, Running, Slots};
use muster_tests::rest::inventory;
use muster_tests::segment::{Offer, Segment, in_segment};
use serde_json::{Value, json};

use super::asked_for::Lab;

/// Drivers of the live image that QEMU has cards for, in the slots 4 to 7 of each machine.
const CARDS: [&str; 4] = ["virtio-net-pci", "e1000e", "rtl8139", "vmxnet3"];
const MACHINES: u8 = 4;
/// With `MUSTER_LONG=1`, and without.
const BOOTS: [u8; 2] = [20, 2];

/// The network of a machine: a bond of two of its cards, with a VLAN over it, and a bridge of a third one. The fourth
/// has DHCP by default.
struct Shape {
    bond: [usize; 2],
    mode: &'static str,
    bridged: usize,
}

const SHAPES: [Shape; MACHINES as usize] = [
    Shape {
        bond: [0, 1],
        mode: "active-backup",
        bridged: 2,
    },
    Shape {
        bond: [2, 3],
        mode: "active-backup",
        bridged: 0,
    },
    Shape {
        bond: [1, 3],
        mode: "balance-xor",
        bridged: 2,
    },
    Shape {
        bond: [0, 2],
        mode: "balance-tlb",
        bridged: 3,
    },
];

fn mac(machine: u8, card: usize) -> String {
    format!("52:54:00:df:{machine:02x}:{card:02x}")
}

/// The kernel's name of a card by its slot.
fn kernel_name(card: usize) -> String {
    format!("enp0s{}", card + 4)
}

/// The networks of all machines.
fn networks() -> Value {
    let of_machine = |(number, shape): (u8, &Shape)| {
        let name = |card: usize| format!("card{card}");
        let dhcp = json!({"enabled": true, "dhcp": true});
        let address = json!([{"ip": format!("10.96.0.{number}"), "prefix-length": 24}]);
        let bond = json!({"mode": shape.mode, "options": {"miimon": 120}, "port": shape.bond.map(name)});
        let bridge = json!({"options": {"stp": {"enabled": false}}, "port": [{"name": name(shape.bridged)}]});
        let document = json!({"interfaces": [
            {"name": "bond0", "type": "bond", "state": "up", "ipv4": dhcp, "link-aggregation": bond},
            {
                "name": "bond0.30", "type": "vlan", "state": "up", "vlan": {"base-iface": "bond0", "id": 30},
                "ipv4": {"enabled": true, "dhcp": false, "address": address},
            },
            {"name": "br0", "type": "linux-bridge", "state": "up", "ipv4": dhcp, "bridge": bridge},
        ]});
        let card = |card: usize| json!({"mac_address": mac(number, card), "logical_nic_name": name(card)});
        let named = [shape.bond[0], shape.bond[1], shape.bridged].map(card);
        json!({"network_yaml": document.to_string(), "mac_interface_map": named})
    };
    (1..).zip(&SHAPES).map(of_machine).collect()
}

fn start(
    number: u8,
    serial: &str,
    taps: &[String],
    lab: &Lab,
    infra_env: &InfraEnv,
    slots: &Slots,
) -> Running {
    let machine = Machine::new(&format!("many-{number}"))
        .memory_mib(2048)
        .smbios(&format!("type=1,manufacturer=AcmeCorp,serial={serial}"));
    let cards = CARDS.iter().enumerate().zip(taps);
    let machine = cards.fold(machine, |machine, ((card, device), tap)| {
        let device = format!("{device},addr={:#x}", card + 4);
        machine.nic(Nic::tap(&device, &mac(number, card), tap))
    });
    machine
        .boot(Medium::Cd(lab.image(infra_env)))
        .start_in(slots.with())
}

/// The address of that interface.
fn address<'a>(found: &'a Inventory, interface: &str) -> Option<&'a String> {
    let card = found.interfaces.iter().find(|card| card.name == interface)?;
    card.ipv4_addresses.first()
}

#[test]
#[ignore = "four machines at once, twice or (MUSTER_LONG=1) twenty times: an hour and more"]
fn of_four_machines_with_four_kinds_of_cards_no_boot_loses_one() {
    in_segment(|segment: &mut Segment| {
        segment.serve(&Offer::Addresses);
        let lab = Lab::new();
        let infra_env = lab.infra_env("many", json!({"static_network_config": networks()}));
        let taps: Vec<Vec<String>> = (0..MACHINES)
            .map(|_| CARDS.iter().map(|_| segment.tap()).collect())
            .collect();
        let slots = Slots::one();
        let is_long = std::env::var_os("MUSTER_LONG").is_some_and(|value| !value.is_empty());
        for boot in 1..=BOOTS[usize::from(!is_long)] {
            // Each boot is another host: its reports are not those of an earlier one.
            let serial = |number: u8| format!("ACME-{number}-{boot}");
            lab.key.forget_hosts();
            let mut machines: Vec<Running> = (1..)
                .zip(&taps)
                .map(|(number, taps)| start(number, &serial(number), taps, &lab, &infra_env, &slots))
                .collect();
            for (number, shape) in (1..).zip(&SHAPES) {
                let what = format!("boot {boot} of machine {number}: all addresses");
                let at = await_condition(&what, MACHINE_LIMIT, || {
                    for machine in &mut machines {
                        assert!(machine.is_on(), "{} switched itself off", machine.name());
                    }
                    let hosts = lab
                        .client()
                        .hosts(infra_env.id)
                        .map_err(|error| error.to_string())?;
                    let mut all = hosts.iter().filter_map(inventory);
                    let is_it = |found: &Inventory| {
                        let vendor = found.system_vendor.as_ref();
                        vendor.is_some_and(|vendor| vendor.serial_number == serial(number))
                    };
                    let found = all.find(is_it).ok_or("no host yet")?;
                    let wanted = ["bond0", "bond0.30", "br0"];
                    match wanted.iter().all(|name| address(&found, name).is_some()) {
                        true => Ok(address(&found, "bond0").cloned().unwrap_or_default()),
                        false => Err(format!("{:?}", found.interfaces)),
                    }
                });
                let read = "cat bond0/bonding/mode bond0/bonding/miimon bond0/bonding/slaves bonding_masters; ls br0/brif";
                let seen = lab.read(&at, read);
                let mut lines = seen.lines();
                let mode = lines.next().unwrap_or_default();
                assert!(
                    mode.starts_with(shape.mode),
                    "boot {boot} of machine {number}: {seen}"
                );
                assert_eq!(
                    lines.next(),
                    Some("120"),
                    "boot {boot} of machine {number}: {seen}"
                );
                let mut ports: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
                ports.sort_unstable();
                assert_eq!(
                    ports,
                    shape.bond.map(kernel_name),
                    "boot {boot} of machine {number}: {seen}"
                );
                assert_eq!(
                    lines.next(),
                    Some("bond0"),
                    "boot {boot} of machine {number}: {seen}"
                );
                assert_eq!(lines.next(), Some(kernel_name(shape.bridged).as_str()), "{seen}");
            }
            println!("boot {boot}: nothing is lost on {MACHINES} machines");
        }
    });
}
