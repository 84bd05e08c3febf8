//! Machines on networks without DHCP: each takes its own configuration out of one image, or from kernel arguments.

mod asked_for;
mod many_boots;
mod reported;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};

use muster_api::host::Host;
use muster_api::infra_env::InfraEnv;
use muster_api::inventory::{Interface, Inventory};
use muster_tests::condition::await_condition;
use muster_tests::discovery::interface;
use muster_tests::discovery::login::Key;
use muster_tests::qemu::{Disk, DiskBus, GIB, MACHINE_LIMIT, Machine, Medium, Nic, Running, Slots};
use muster_tests::rest::{Client, inventory};
use muster_tests::segment::{ADDRESS, SECOND_ADDRESS, TaggedSwitch, in_segment};
use muster_tests::service::Settings;
use serde_json::{Value, json};

const VLAN: u16 = 100;
/// Announced by a port in place of it.
const OTHER_VLAN: u16 = 200;

/// In upper case, as a user might type them; QEMU has them in lower case.
const PLAIN: &str = "52:54:00:DD:00:01";
const BONDED: [&str; 2] = ["52:54:00:dd:00:02", "52:54:00:Dd:00:03"];
const AGGREGATED: [&str; 2] = ["52:54:00:dd:00:06", "52:54:00:dd:00:07"];
/// No machine here has it.
const ANOTHER: &str = "52:54:00:dd:00:08";

/// In the second network, which no other address of the machine is in.
const PLAIN_ADDRESS: &str = "10.92.0.11";
const BONDED_ADDRESS: &str = "10.91.0.12";

/// The networks in the image: one belongs to another machine.
fn networks() -> Value {
    let address = |address: &str| json!({"enabled": true, "dhcp": false, "address": [{"ip": address, "prefix-length": 24}]});
    let host = |document: Value, cards: &[(&str, &str)]| {
        let card = |(mac, name): &(&str, &str)| json!({"mac_address": mac, "logical_nic_name": name});
        let cards: Vec<Value> = cards.iter().map(card).collect();
        json!({"network_yaml": document.to_string(), "mac_interface_map": cards})
    };
    let another = json!({"interfaces": [{"name": "nic", "type": "ethernet", "state": "up", "ipv4": address("10.92.0.99")}]});
    let own = json!({
        "interfaces": [
            {
                "name": "nic", "type": "ethernet", "state": "up", "mtu": 1400, "ipv4": address(PLAIN_ADDRESS),
                "ipv6": {"enabled": true, "address": [{"ip": "fd00:92::11", "prefix-length": 64}]},
            },
            {"name": "lag", "type": "bond", "link-aggregation": {"mode": "802.3ad", "options": {"lacp_rate": "fast"}, "port": ["a", "b"]}},
            {"name": "lag.100", "type": "vlan", "ipv4": address("10.91.0.15"), "vlan": {"base-iface": "lag", "id": VLAN}},
        ],
        "routes": {"config": [{"destination": "0.0.0.0/0", "next-hop-address": SECOND_ADDRESS, "next-hop-interface": "nic"}]},
        "dns-resolver": {"config": {"server": [ADDRESS], "search": ["lab.example"]}},
    });
    json!([
        host(another, &[(ANOTHER, "nic")]),
        host(own, &[(PLAIN, "nic"), (AGGREGATED[0], "a"), (AGGREGATED[1], "b")]),
    ])
}

/// A VLAN on a bond.
fn kernel_arguments() -> Value {
    let [left, right] = BONDED;
    let arguments = [
        format!("ifname=left:{left}"),
        format!("ifname=right:{right}"),
        "bond=bond0:left,right:mode=active-backup,miimon=100,primary=right".to_owned(),
        format!("vlan=bond0.{VLAN}:bond0"),
        format!("ip={BONDED_ADDRESS}::{ADDRESS}:255.255.255.0::bond0.{VLAN}:none"),
    ];
    let append = |value: &String| json!({"operation": "append", "value": value});
    arguments.iter().map(append).collect()
}

#[test]
fn without_dhcp_a_plain_card_bonds_and_vlans_are_set_up_by_the_image_and_by_kernel_arguments() {
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
        let key = Key::generate();
        let by_image = json!({"static_network_config": networks(), "ssh_authorized_key": key.public()});
        let by_image = client.create_infra_env_with("by-image", &by_image).unwrap();
        let by_arguments =
            json!({"kernel_arguments": kernel_arguments(), "ssh_authorized_key": key.public()});
        let by_arguments = client
            .create_infra_env_with("by-arguments", &by_arguments)
            .unwrap();
        segment.second_network();
        let switch = TaggedSwitch::start(segment, VLAN, &[VLAN, OTHER_VLAN], 2);
        let bonded = (0..2)
            .map(|port| Nic::udp("virtio-net-pci", &BONDED[port].to_lowercase(), switch.cable(port)))
            .collect();
        // LACP needs cards that report their speed.
        let aggregated = (0..2).map(|port| Nic::udp("e1000e", AGGREGATED[port], switch.cable(2 + port)));
        let plain = Nic::tap("virtio-net-pci", &PLAIN.to_lowercase(), &segment.second_tap());
        let slots = Slots::one();
        let start = |name: &str, infra_env: &InfraEnv, nics: Vec<Nic>| {
            let machine = Machine::new(name)
                .memory_mib(2048)
                .smbios(&format!("type=1,manufacturer=AcmeCorp,serial=ACME-{name}"))
                .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &format!("SER-{name}")));
            let machine = nics.into_iter().fold(machine, Machine::nic);
            machine.boot(Medium::Cd(image(infra_env))).start_in(slots.with())
        };
        let mut machines = [
            start(
                "plain",
                &by_image,
                [plain].into_iter().chain(aggregated).collect(),
            ),
            start("bonded", &by_arguments, bonded),
        ];
        let plain = format!("{PLAIN_ADDRESS}/24");
        let addresses = [plain.as_str(), "fd00:92::11/64", "10.91.0.15/24"];
        let found = await_host(client, &by_image, &mut machines, &addresses);
        let [plain, same, aggregated] = addresses.map(|address| card(&found, address));
        assert_eq!((&plain.name, plain.mtu), (&same.name, 1400));
        assert_has_default_route(&found, SECOND_ADDRESS);
        assert_is_reached(PLAIN_ADDRESS);
        // It has reported by this network, which needs a matching switch.
        assert_eq!(
            (aggregated.name.as_str(), aggregated.kind.as_str()),
            ("lag.100", "vlan")
        );
        let options = key.run_at(
            PLAIN_ADDRESS,
            "cd /sys/class/net && cat bonding_masters && cd lag/bonding && cat mode miimon lacp_rate",
        );
        let wanted = "lag\n802.3ad 4\n100\nfast 1\n";
        assert_eq!(String::from_utf8_lossy(&options.stdout), wanted, "{options:?}");

        let address = format!("{BONDED_ADDRESS}/24");
        let found = await_host(client, &by_arguments, &mut machines, &[&address]);
        let vlan = card(&found, &address);
        assert_eq!((vlan.name.as_str(), vlan.kind.as_str()), ("bond0.100", "vlan"));
        // The ports of the bond keep their own addresses in the inventory.
        let [_, right] = BONDED.map(|mac| interface(&found, &mac.to_lowercase()));
        let options = key.run_at(
            BONDED_ADDRESS,
            "cd /sys/class/net/bond0/bonding && cat mode miimon primary",
        );
        let wanted = format!("active-backup 1\n100\n{}\n", right.name);
        assert_eq!(String::from_utf8_lossy(&options.stdout), wanted, "{options:?}");
        assert_has_default_route(&found, ADDRESS);
        assert_switch_ports(client, &by_arguments, &mut machines);
    });
}

/// The inventory of the InfraEnv's only machine, when it has reported one with these addresses.
#[track_caller]
fn await_host(
    client: &Client,
    infra_env: &InfraEnv,
    machines: &mut [Running],
    addresses: &[&str],
) -> Inventory {
    let what = format!("the machine of {} to report {addresses:?}", infra_env.name);
    await_condition(&what, MACHINE_LIMIT, || {
        for machine in machines.iter_mut() {
            assert!(machine.is_on(), "{} switched itself off", machine.name());
        }
        let host = only_host(client, infra_env)?;
        let found = inventory(&host).ok_or_else(|| format!("{:?}", host.status))?;
        let has = |address: &&str| found.interfaces.iter().any(|card| is_on(card, address));
        if addresses.iter().all(has) {
            Ok(found)
        } else {
            Err(format!("{:?}", found.interfaces))
        }
    })
}

fn is_on(card: &Interface, address: &str) -> bool {
    let mut all = card.ipv4_addresses.iter().chain(&card.ipv6_addresses);
    all.any(|one| one == address)
}

fn only_host(client: &Client, infra_env: &InfraEnv) -> Result<Host, String> {
    let hosts = client.hosts(infra_env.id).map_err(|error| error.to_string())?;
    match <[Host; 1]>::try_from(hosts) {
        Ok([host]) => Ok(host),
        Err(hosts) => Err(format!("{} hosts", hosts.len())),
    }
}

/// Checks that packets reach that address and return: no program listens there.
#[track_caller]
fn assert_is_reached(address: &str) {
    let ssh = SocketAddr::new(address.parse().unwrap(), 22);
    // With a key in the image an SSH server listens there.
    if let Err(error) = TcpStream::connect_timeout(&ssh, MACHINE_LIMIT) {
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
    }
}

#[track_caller]
fn assert_has_default_route(inventory: &Inventory, gateway: &str) {
    let mut routes = inventory.routes.iter();
    let is_there = routes.any(|route| route.destination == "0.0.0.0" && route.gateway == gateway);
    assert!(is_there, "{:?}", inventory.routes);
}

/// Waits until the ports of the bond report where they are plugged in, and the one that lacks the VLAN is a finding.
#[track_caller]
fn assert_switch_ports(client: &Client, infra_env: &InfraEnv, machines: &mut [Running]) {
    let told = [
        "switch lab-switch port port 0, native VLAN 1, tagged 100",
        "switch lab-switch port port 1, native VLAN 1, tagged 200, without VLAN 100",
    ];
    await_condition("both ports to be told", MACHINE_LIMIT, || {
        for machine in machines.iter_mut() {
            assert!(machine.is_on(), "{} switched itself off", machine.name());
        }
        let host = only_host(client, infra_env)?;
        let inventory = inventory(&host).ok_or("no inventory")?;
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
fn card<'a>(inventory: &'a Inventory, address: &str) -> &'a Interface {
    let mut cards = inventory.interfaces.iter();
    cards
        .find(|card| is_on(card, address))
        .unwrap_or_else(|| panic!("{address} is on none of {:?}", inventory.interfaces))
}
