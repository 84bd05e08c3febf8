//! Machines on a network without DHCP: each takes its own configuration out of one image, or from kernel arguments.

use std::time::Duration;

use muster_api::host::Host;
use muster_api::infra_env::InfraEnv;
use muster_api::inventory::Inventory;
use muster_tests::condition::await_condition;
use muster_tests::qemu::{Disk, DiskBus, GIB, MACHINE_LIMIT, Machine, Medium, Nic, Running, Slots};
use muster_tests::rest::{Client, inventory};
use muster_tests::segment::{ADDRESS, Segment, in_segment};
use muster_tests::service::Settings;
use muster_tests::tagged_switch::TaggedSwitch;
use serde_json::{Value, json};

const VLAN: u16 = 100;
/// Claimed by a port in place of it.
const OTHER_VLAN: u16 = 200;
/// From the first report to the one after the switch was heard.
const LLDP_LIMIT: Duration = Duration::from_secs(60);

/// In the case in which a person might type them; QEMU has them in lower case.
const PLAIN: &str = "52:54:00:DD:00:01";
const BONDED: [&str; 2] = ["52:54:00:dd:00:02", "52:54:00:Dd:00:03"];
const BRIDGED: &str = "52:54:00:dd:00:04";
const BY_ARGUMENTS: &str = "52:54:00:dd:00:05";
const AGGREGATED: [&str; 2] = ["52:54:00:dd:00:06", "52:54:00:dd:00:07"];

fn networks() -> Value {
    let routes = |interface: &str| json!({"config": [{"destination": "0.0.0.0/0", "next-hop-address": ADDRESS, "next-hop-interface": interface}]});
    let address = |last: u8| json!({"enabled": true, "dhcp": false, "address": [{"ip": format!("10.91.0.{last}"), "prefix-length": 24}]});
    let host = |document: Value, cards: &[(&str, &str)]| {
        let card = |(mac, name): &(&str, &str)| json!({"mac_address": mac, "logical_nic_name": name});
        let cards: Vec<Value> = cards.iter().map(card).collect();
        json!({"network_yaml": document.to_string(), "mac_interface_map": cards})
    };
    json!([
        host(
            json!({
                "interfaces": [{
                    "name": "nic", "type": "ethernet", "state": "up", "mtu": 1400, "ipv4": address(11),
                    "ipv6": {"enabled": true, "address": [{"ip": "fd00:91::11", "prefix-length": 64}]},
                }],
                "routes": routes("nic"),
                "dns-resolver": {"config": {"server": [ADDRESS], "search": ["lab.example"]}},
            }),
            &[(PLAIN, "nic")],
        ),
        host(
            json!({
                "interfaces": [
                    {
                        "name": "bond0.100", "type": "vlan", "state": "up", "ipv4": address(12),
                        "vlan": {"base-iface": "bond0", "id": VLAN},
                    },
                    {
                        "name": "bond0", "type": "bond", "state": "up",
                        "link-aggregation": {
                            "mode": "active-backup", "options": {"miimon": "100", "primary": "right"}, "port": ["left", "right"],
                        },
                    },
                ],
                "routes": routes("bond0.100"),
            }),
            &[(BONDED[0], "left"), (BONDED[1], "right")],
        ),
        host(
            json!({
                "interfaces": [{
                    "name": "br-ex", "type": "linux-bridge", "state": "up", "ipv4": address(13), "copy-mac-from": "uplink",
                    "bridge": {"options": {"stp": {"enabled": false}}, "port": [{"name": "uplink"}]},
                }],
                "routes": routes("br-ex"),
            }),
            &[(BRIDGED, "uplink")],
        ),
        host(
            json!({
                "interfaces": [
                    {"name": "lag", "type": "bond", "link-aggregation": {"mode": "802.3ad", "options": {"lacp_rate": "fast"}, "port": ["a", "b"]}},
                    {"name": "lag.100", "type": "vlan", "ipv4": address(15), "vlan": {"base-iface": "lag", "id": VLAN}},
                ],
                "routes": routes("lag.100"),
            }),
            &[(AGGREGATED[0], "a"), (AGGREGATED[1], "b")],
        ),
    ])
}

#[test]
fn five_machines_without_dhcp_take_their_own_networks_and_are_discovered() {
    in_segment(|segment| {
        let service = Settings::on_address(ADDRESS).start();
        let client = service.client();
        let folder = tempfile::tempdir().unwrap();
        let image = |infra_env: &InfraEnv| {
            let iso = folder.path().join(format!("{}.iso", infra_env.id));
            let url = service.reachable(&client.image_url(infra_env.id).unwrap());
            client.download(&url, &iso).unwrap();
            iso
        };
        let told = client
            .create_infra_env_with("told", &json!({"static_network_config": networks()}))
            .unwrap();
        let dashes = BY_ARGUMENTS.replace(':', "-");
        let argument = format!("ip=10.91.0.14::{ADDRESS}:255.255.255.0::{dashes}:none");
        let said = client
            .create_infra_env_with(
                "said",
                &json!({"kernel_arguments": [{"operation": "append", "value": argument}]}),
            )
            .unwrap();
        let (image_told, image_said) = (image(&told), image(&said));
        let switch = TaggedSwitch::start(segment, VLAN, &[VLAN, OTHER_VLAN], 2);
        let on_segment = |segment: &mut Segment, mac: &str| {
            vec![Nic::tap("virtio-net-pci", &mac.to_lowercase(), &segment.tap())]
        };
        let bonded = (0..2)
            .map(|port| Nic::udp("virtio-net-pci", &BONDED[port].to_lowercase(), switch.cable(port)))
            .collect();
        // LACP needs cards that know their speed.
        let aggregated = (0..2)
            .map(|port| Nic::udp("e1000e", AGGREGATED[port], switch.cable(2 + port)))
            .collect();
        let machines = [
            ("plain", &image_told, on_segment(segment, PLAIN)),
            ("bonded", &image_told, bonded),
            ("aggregated", &image_told, aggregated),
            ("bridged", &image_told, on_segment(segment, BRIDGED)),
            ("by-arguments", &image_said, on_segment(segment, BY_ARGUMENTS)),
        ];
        let slots = Slots::one();
        let mut running: Vec<Running> = machines
            .into_iter()
            .map(|(name, iso, nics)| {
                let machine = Machine::new(name)
                    .memory_mib(2048)
                    .smbios(&format!("type=1,manufacturer=AcmeCorp,serial=ACME-{name}"))
                    .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &format!("SER-{name}")));
                let machine = nics.into_iter().fold(machine, Machine::nic);
                machine.boot(Medium::Cd(iso.clone())).start_in(slots.with())
            })
            .collect();
        let found = await_condition("all five to report themselves", MACHINE_LIMIT, || {
            for machine in &mut running {
                assert!(machine.is_on(), "{} switched itself off", machine.name());
            }
            let mut found = hosts(client, &told)?;
            found.extend(hosts(client, &said)?);
            if found.len() == 5 {
                Ok(found)
            } else {
                Err(format!("{} have", found.len()))
            }
        });
        let of = |mac: &str| {
            let mac = mac.to_lowercase();
            let mut found = found.iter();
            found
                .find(|inventory| inventory.interfaces.iter().any(|card| card.mac_address == mac))
                .unwrap_or_else(|| panic!("{mac} is not among them"))
        };
        let plain = card(of(PLAIN), "10.91.0.11/24");
        assert_eq!(plain.mtu, 1400);
        assert!(
            plain.ipv6_addresses.contains(&"fd00:91::11/64".to_owned()),
            "{:?}",
            plain.ipv6_addresses
        );
        let vlan = card(of(BONDED[0]), "10.91.0.12/24");
        assert_eq!((vlan.name.as_str(), vlan.kind.as_str()), ("bond0.100", "vlan"));
        // The ports of the bond keep their own addresses in the inventory.
        assert_eq!(of(BONDED[0]), of(BONDED[1]));
        let aggregated = card(of(AGGREGATED[0]), "10.91.0.15/24");
        assert_eq!(aggregated.name, "lag.100");
        let bridge = card(of(BRIDGED), "10.91.0.13/24");
        assert_eq!(
            (bridge.name.as_str(), bridge.mac_address.as_str()),
            ("br-ex", BRIDGED)
        );
        card(of(BY_ARGUMENTS), "10.91.0.14/24");
        assert_switch_ports(client, &told);
        for inventory in &found {
            let has_default = inventory.routes.iter().any(|route| route.gateway == ADDRESS);
            assert!(has_default, "{:?}", inventory.routes);
        }
    });
}

/// The inventories of those that have reported.
fn hosts(client: &Client, infra_env: &InfraEnv) -> Result<Vec<Inventory>, String> {
    let hosts: Vec<Host> = client.hosts(infra_env.id).map_err(|error| error.to_string())?;
    Ok(hosts.iter().filter_map(inventory).collect())
}

/// Waits until the ports of the bond say where they are plugged in, and the one that lacks the VLAN is a finding.
#[track_caller]
fn assert_switch_ports(client: &Client, infra_env: &InfraEnv) {
    let told = [
        "switch lab-switch port port 0, native VLAN 1, tagged 100",
        "switch lab-switch port port 1, native VLAN 1, tagged 200, without VLAN 100",
    ];
    await_condition("both ports to be told", LLDP_LIMIT, || {
        let hosts: Vec<Host> = client.hosts(infra_env.id).map_err(|error| error.to_string())?;
        let found = hosts.iter().find_map(|host| {
            let inventory = inventory(host)?;
            let is_bonded = inventory
                .interfaces
                .iter()
                .any(|card| card.mac_address == BONDED[0]);
            is_bonded.then_some((host, inventory))
        });
        let (host, inventory) = found.ok_or("no bonded host")?;
        let mut ports: Vec<String> = inventory
            .interfaces
            .iter()
            .filter_map(|card| Some(card.switch_port.as_ref()?.to_string()))
            .collect();
        // The order of the cards is the kernel's.
        ports.sort();
        let finding = host
            .findings
            .iter()
            .find(|one| one.kind == "vlan-not-on-switch-port");
        match finding {
            Some(one) if ports == told => {
                let names = ["VLAN 100", "lab-switch", "port 1", "tagged: 200"];
                assert!(
                    names.iter().all(|name| one.message.contains(name)),
                    "{}",
                    one.message
                );
                Ok(())
            }
            finding => Err(format!("{ports:?}, {finding:?}")),
        }
    });
}

/// The interface that has this address.
#[track_caller]
fn card<'a>(inventory: &'a Inventory, address: &str) -> &'a muster_api::inventory::Interface {
    let mut cards = inventory.interfaces.iter();
    cards
        .find(|card| card.ipv4_addresses.iter().any(|one| one == address))
        .unwrap_or_else(|| panic!("{address} is on none of {:?}", inventory.interfaces))
}
