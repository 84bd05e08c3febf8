//! The requested settings are the kernel's settings, as the machine's own sysfs shows; and the host and the screen
//! report missing ones. A network that works could still have other settings.

use std::path::PathBuf;

use muster_api::host::{Host, HostFinding};
use muster_api::infra_env::InfraEnv;
use muster_tests::condition::await_condition;
use muster_tests::discovery::login::Key;
use muster_tests::qemu::{MACHINE_LIMIT, Machine, Medium, Nic, Running, Slots};
use muster_tests::rest::{Client, inventory};
use muster_tests::segment::{ADDRESS, Offer, Segment, UdpCable, in_segment};
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::only_host;

/// PCI slot of the first card of a machine, which is `enp0s4`.
const FIRST_SLOT: u8 = 4;

/// Where the live image keeps the connections that an installation takes along.
const CONNECTIONS: &str = "/etc/NetworkManager/system-connections";

/// A service in a segment, and a user who may log in to machines.
pub(super) struct Lab {
    pub service: Service,
    pub key: Key,
    folder: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        Self {
            service: Settings::on_address(ADDRESS).start(),
            key: Key::generate(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn client(&self) -> &Client {
        self.service.client()
    }

    /// An InfraEnv with the key for logins to its machines.
    pub fn infra_env(&self, name: &str, mut more: Value) -> InfraEnv {
        more["ssh_authorized_key"] = json!(self.key.public());
        self.client().create_infra_env_with(name, &more).unwrap()
    }

    pub fn with_arguments(&self, name: &str, arguments: &[&str]) -> InfraEnv {
        let append = |argument: &&str| json!({"operation": "append", "value": argument});
        let list: Vec<Value> = arguments.iter().map(append).collect();
        self.infra_env(name, json!({ "kernel_arguments": list }))
    }

    pub fn image(&self, infra_env: &InfraEnv) -> PathBuf {
        let iso = self.folder.path().join(format!("{}.iso", infra_env.id));
        let url = self.client().image_url(infra_env.id).unwrap();
        self.client()
            .download(&self.service.reachable(&url), &iso)
            .unwrap();
        iso
    }

    /// The output of a script on the machine, in `/sys/class/net`, without the final newline.
    #[track_caller]
    pub fn read(&self, address: &str, script: &str) -> String {
        let (address, _) = address.split_once('/').unwrap();
        let told = self
            .key
            .run_at(address, &format!("cd /sys/class/net && {script}"));
        assert!(told.status.success(), "{told:?}");
        String::from_utf8_lossy(&told.stdout).trim_end().to_owned()
    }

    /// The line with that key of a connection for the installed system.
    #[track_caller]
    pub fn connection(&self, address: &str, name: &str, key: &str) -> String {
        let script = format!("grep '^{key}=' {CONNECTIONS}/{name}.nmconnection");
        self.read(address, &script)
    }
}

pub(super) fn mac(machine: u8, slot: u8) -> String {
    format!("52:54:00:de:{machine:02x}:{slot:02x}")
}

/// A machine with these cards in the slots, each on a cable of the segment.
pub(super) fn machine(number: u8, cards: &[&str], segment: &mut Segment) -> Machine {
    let machine = Machine::new(&format!("asked-{number}"))
        .memory_mib(2048)
        .smbios(&format!("type=1,manufacturer=AcmeCorp,serial=ACME-{number}"));
    (FIRST_SLOT..).zip(cards).fold(machine, |machine, (slot, card)| {
        let device = format!("{card},addr={slot:#x}");
        machine.nic(Nic::tap(&device, &mac(number, slot), &segment.tap()))
    })
}

/// The only address of IPv4 that the host reports on that interface, with its prefix length.
#[track_caller]
pub(super) fn await_address(
    lab: &Lab,
    infra_env: &InfraEnv,
    machines: &mut [Running],
    interface: &str,
) -> String {
    let what = format!("{} to have an address on {interface}", infra_env.name);
    await_condition(&what, MACHINE_LIMIT, || {
        for machine in machines.iter_mut() {
            assert!(machine.is_on(), "{} switched itself off", machine.name());
        }
        let host = only_host(lab.client(), infra_env)?;
        let found = inventory(&host).ok_or_else(|| format!("{:?}", host.status))?;
        let mut cards = found.interfaces.iter();
        let card = cards.find(|card| card.name == interface && !card.ipv4_addresses.is_empty());
        card.map(|card| card.ipv4_addresses[0].clone())
            .ok_or_else(|| format!("{:?}", found.interfaces))
    })
}

/// Three machines with cards that appear while the first device is created: a bridge, a bond, and a bond of cards with
/// another driver.
#[test]
fn cards_that_come_late_become_ports_and_bonds_have_the_options_that_were_asked_for() {
    in_segment(|segment| {
        segment.serve(&Offer::Addresses);
        let lab = Lab::new();
        let bridge = lab.with_arguments("bridge", &["bridge=br0:enp0s5", "ip=br0:dhcp"]);
        let bond = lab.with_arguments(
            "bond",
            &["bond=bond1:enp0s6,enp0s7:mode=active-backup", "ip=bond1:dhcp"],
        );
        let two_drivers = lab.infra_env("two-drivers", two_drivers());
        let slots = Slots::one();
        let virtio = "virtio-net-pci";
        let mut start = |number, infra_env: &InfraEnv, cards: [&str; 4]| {
            let machine = machine(number, &cards, segment);
            machine
                .boot(Medium::Cd(lab.image(infra_env)))
                .start_in(slots.with())
        };
        let mut machines = [
            start(1, &bridge, [virtio; 4]),
            start(2, &bond, [virtio; 4]),
            start(3, &two_drivers, [virtio, virtio, "e1000e", "e1000e"]),
        ];

        let address = await_address(&lab, &bridge, &mut machines, "br0");
        assert_eq!(lab.read(&address, "ls br0/brif"), "enp0s5");

        let address = await_address(&lab, &bond, &mut machines, "bond1");
        let read = "cat bond1/bonding/mode bond1/bonding/miimon bond1/bonding/slaves";
        assert_eq!(lab.read(&address, read), "active-backup 1\n100\nenp0s6 enp0s7");
        let unasked = lab.read(&address, "cat bonding_masters");
        assert_eq!(unasked, "bond1", "the kernel makes a bond0 by itself");

        let address = await_address(&lab, &two_drivers, &mut machines, "bond0");
        await_address(&lab, &two_drivers, &mut machines, "enp0s5");
        let read = "cd bond0/bonding && cat mode miimon updelay primary active_slave slaves";
        assert_eq!(
            lab.read(&address, read),
            "active-backup 1\n140\n280\nenp0s7\nenp0s7\nenp0s6 enp0s7"
        );
        assert_eq!(
            lab.connection(&address, "bond0", "primary"),
            "primary=enp0s7",
            "the name that the card has on the installed system"
        );
        for infra_env in [&bridge, &bond, &two_drivers] {
            let host = only_host(lab.client(), infra_env).unwrap();
            assert_eq!(of_network(&host), [], "{}", infra_env.name);
        }
    });
}

fn two_drivers() -> Value {
    let dhcp = json!({"enabled": true, "dhcp": true});
    let options = json!({"miimon": 140, "updelay": 280, "primary": "eth3"});
    let document = json!({"interfaces": [
        {
            "name": "bond0", "type": "bond", "state": "up", "ipv4": dhcp,
            "link-aggregation": {"mode": "active-backup", "options": options, "port": ["eth2", "eth3"]},
        },
        {"name": "eth1", "type": "ethernet", "state": "up", "ipv4": dhcp},
    ]});
    let card = |(slot, name): (u8, &str)| json!({"mac_address": mac(3, slot), "logical_nic_name": name});
    let cards: Vec<Value> = [(5, "eth1"), (6, "eth2"), (7, "eth3")].map(card).into();
    json!({"static_network_config": [{"network_yaml": document.to_string(), "mac_interface_map": cards}]})
}

pub(super) fn of_network(host: &Host) -> Vec<HostFinding> {
    let kinds = ["network-not-as-configured", "kernel-argument"];
    let mut findings = host.findings.clone();
    findings.retain(|one| kinds.contains(&one.kind.as_str()));
    findings
}

/// One machine reaches the service although something is missing, another does not.
#[test]
fn what_the_network_lacks_is_told_by_the_host_and_on_the_screen() {
    in_segment(|segment| {
        segment.serve(&Offer::Addresses);
        let lab = Lab::new();
        let partly = lab.with_arguments(
            "partly",
            &[
                "ip=enp0s4:dhcp",
                "vlan=enp0s4.5:enp0s4",
                "ip=10.95.0.5:::24::enp0s4.5:none:9000",
                "vlan=bond7.250:bond7",
                "ip=bond7.250:dhcp",
                "vlan=five:enp0s4",
            ],
        );
        let not_at_all = lab.with_arguments("not-at-all", &["vlan=bond7.250:bond7", "ip=bond7.250:dhcp"]);
        let slots = Slots::one();
        let virtio = "virtio-net-pci";
        let of_partly = machine(4, &[virtio; 4], segment);
        // Nobody is at the other end of its cable.
        let nowhere = UdpCable {
            card: 21_000,
            switch: 21_001,
        };
        let of_nothing = Machine::new("asked-5").memory_mib(2048).nic(Nic::udp(
            "virtio-net-pci,addr=0x4",
            &mac(5, 4),
            nowhere,
        ));
        let start = |machine: Machine, infra_env: &InfraEnv| {
            machine
                .boot(Medium::Cd(lab.image(infra_env)))
                .start_in(slots.with())
        };
        let mut machines = [start(of_partly, &partly), start(of_nothing, &not_at_all)];

        let mtu = "its MTU is 1500, and 9000 is configured: enp0s4 below it has 1500";
        let base = "bond7, over which it lies, is named by the configuration and is not there";
        let wanted = [
            ("network-not-as-configured", "enp0s4.5", mtu),
            ("network-not-as-configured", "bond7.250", base),
            ("kernel-argument", "vlan=five:enp0s4", "is not understood"),
        ];
        let what = "the host to tell what differs";
        await_condition(what, MACHINE_LIMIT, || {
            for machine in &mut machines {
                assert!(machine.is_on(), "{} switched itself off", machine.name());
            }
            let found = of_network(&only_host(lab.client(), &partly)?);
            let has = |(kind, about, text): &(&str, &str, &str)| {
                let mut found = found.iter();
                found.any(|one| one.kind == *kind && one.about == *about && one.message.contains(text))
            };
            if wanted.iter().all(has) {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            }
        });
        let events = lab.client().events(partly.id).unwrap();
        assert!(
            events.iter().any(|event| event.message.contains(mtu)),
            "{events:?}"
        );
        let screen = r"trouble \| (enp0s4\.5: its MTU is 1500, and 9000 is configured)";
        machines[0].await_serial(screen);

        let to_do = r"to do \| (.*bond7.*)";
        let advice = machines[1].await_serial(to_do);
        assert!(advice.contains("bond7"), "{advice}");
        let console = machines[1].console().text();
        let last = console.rsplit("to do |").next().unwrap_or_default();
        assert!(last.contains("bond7"), "it is not DHCP that is missing: {last}");
    });
}
