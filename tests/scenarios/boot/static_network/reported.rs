//! Networks of which public reports tell that machines did not have them: each machine has what is asked for, as it reports it and as
//! its own sysfs and files show it.

use muster_api::host::HostFinding;
use muster_api::infra_env::InfraEnv;
use muster_api::inventory::{Interface, Inventory, Route};
use muster_tests::condition::await_condition;
use muster_tests::qemu::{MACHINE_LIMIT, Medium, Running, Slots};
use muster_tests::rest::inventory;
use muster_tests::segment::{ADDRESS, Offer, Segment, in_segment};
use serde_json::{Value, json};

use super::asked_for::{Lab, await_address, mac, machine, of_network};
use super::only_host;

/// A machine with these cards, switched on, with a network by kernel arguments.
fn start(
    number: u8,
    cards: &[&str],
    arguments: &[&str],
    lab: &Lab,
    slots: &Slots,
    segment: &mut Segment,
) -> (InfraEnv, Running) {
    let infra_env = lab.with_arguments(&format!("reported-{number}"), arguments);
    let machine = machine(number, cards, segment).boot(Medium::Cd(lab.image(&infra_env)));
    (infra_env, machine.start_in(slots.with()))
}

#[track_caller]
fn reported(lab: &Lab, infra_env: &InfraEnv) -> Inventory {
    inventory(&only_host(lab.client(), infra_env).unwrap()).unwrap()
}

#[track_caller]
fn named<'a>(found: &'a Inventory, name: &str) -> &'a Interface {
    let mut all = found.interfaces.iter();
    all.find(|card| card.name == name)
        .unwrap_or_else(|| panic!("no {name} in {:?}", found.interfaces))
}

/// Waits until the host reports a route to that network over the interface, by the gateway and with the metric if one is given.
#[track_caller]
fn await_route(lab: &Lab, infra_env: &InfraEnv, network: &str, name: &str, metric: Option<i32>) {
    let what = format!("a route to {network} over {name}");
    await_condition(&what, MACHINE_LIMIT, || {
        let found = reported(lab, infra_env);
        let is_it = |route: &Route| {
            (
                route.destination.as_str(),
                route.interface.as_str(),
                route.gateway.as_str(),
            ) == (network, name, ADDRESS)
                && metric.is_none_or(|metric| route.metric == metric)
        };
        match found.routes.iter().any(is_it) {
            true => Ok(()),
            false => Err(format!("{:?}", found.routes)),
        }
    });
}

/// Prints the names of a bond's ports. Which was added first is not fixed.
fn ports(bond: &str) -> String {
    format!("tr ' ' '\\n' < {bond}/bonding/slaves | sort")
}

/// Each address is of no other machine, so that it is this one that is read.
#[test]
fn machines_have_the_networks_that_kernel_arguments_say() {
    in_segment(|segment| {
        segment.two_routers();
        segment.serve(&Offer::Addresses);
        let lab = Lab::new();
        let slots = Slots::one();
        let (virtio, intel) = ("virtio-net-pci", "e1000e");
        let mut machines = Vec::new();
        let mut on = |number, cards: &[&str], arguments: &[&str]| {
            let (infra_env, machine) = start(number, cards, arguments, &lab, &slots, segment);
            machines.push(machine);
            infra_env
        };
        let without_ip = on(
            11,
            &[virtio; 4],
            &[
                "bond=bond0:enp0s6,enp0s7:mode=active-backup,miimon=100",
                "vlan=enp0s5.103:enp0s5",
                "ip=dhcp",
            ],
        );
        let many = on(
            12,
            &[virtio; 6],
            &[
                "ip=enp0s5:dhcp",
                "ip=[2001:db8:5::5]:::64::enp0s5:off",
                "ip=enp0s6:dhcp:1400:52:54:00:12:34:57",
                "ip=10.0.5.20:::24:worker-1:enp0s7:off:1400",
                "bond=bond1:enp0s8,enp0s9:mode=active-backup,fail_over_mac=1",
                "ip=bond1:dhcp",
            ],
        );
        let route = format!("rd.route=10.200.0.0/16:{ADDRESS}");
        let servers = on(13, &[virtio], &["ip=dhcp", "nameserver=10.9.9.9", &route]);
        let only = format!("ip=10.91.0.77::{ADDRESS}:24:::off");
        let only = on(14, &[virtio], &[&only]);
        let of_boot = format!("ip=10.91.0.78::{ADDRESS}:24:node-7:BOOTIF:off");
        let card = format!("BOOTIF=01-{}", mac(15, 6).replace(':', "-"));
        let of_boot = on(15, &[virtio; 4], &[&of_boot, &card]);
        let old_names = on(
            16,
            &[intel; 4],
            &[
                "net.ifnames=0",
                "bond=bond0:eth2,eth3:mode=802.3ad:1500",
                "ip=bond0:dhcp",
            ],
        );
        let mut at = |infra_env, name| await_address(&lab, infra_env, &mut machines, name);

        let address = at(&without_ip, "bond0");
        let read = format!(
            "cat bond0/bonding/mode bond0/bonding/miimon && {}",
            ports("bond0")
        );
        assert_eq!(lab.read(&address, &read), "active-backup 1\n100\nenp0s6\nenp0s7");
        // Nothing answers in the VLAN: kernels of computers that run this need not know any.
        let read = "grep -o 'VID: [0-9]*' /proc/net/vlan/enp0s5.103";
        assert_eq!(lab.read(&address, read), "VID: 103");

        let address = at(&many, "enp0s5");
        for name in ["enp0s6", "bond1"] {
            at(&many, name);
        }
        let host = only_host(lab.client(), &many).unwrap();
        let found = inventory(&host).unwrap();
        assert_eq!(named(&found, "enp0s5").ipv6_addresses, ["2001:db8:5::5/64"]);
        let long = ["10.0.5.20/24".to_owned()];
        let seven = named(&found, "enp0s7");
        assert_eq!(
            (seven.mtu, seven.ipv4_addresses.as_slice()),
            (1400, long.as_slice())
        );
        let read = lab.read(&address, "cat enp0s6/mtu enp0s6/address");
        assert_eq!(read, "1400\n52:54:00:12:34:57");
        assert_eq!(found.hostname, "worker-1");
        assert_eq!(lab.read(&address, "cat /proc/sys/kernel/hostname"), "worker-1");
        let read = format!(
            "cat bond1/bonding/mode bond1/bonding/fail_over_mac && {}",
            ports("bond1")
        );
        assert_eq!(
            lab.read(&address, &read),
            "active-backup 1\nactive 1\nenp0s8\nenp0s9"
        );

        let address = at(&servers, "enp0s4");
        let read = lab.read(&address, "grep nameserver /etc/resolv.conf");
        assert_eq!(read, format!("nameserver 10.9.9.9\nnameserver {ADDRESS}"));
        await_route(&lab, &servers, "10.200.0.0", "enp0s4", None);

        for (infra_env, name, wanted) in [
            (&only, "enp0s4", "10.91.0.77/24"),
            (&of_boot, "enp0s6", "10.91.0.78/24"),
        ] {
            assert_eq!(at(infra_env, name), wanted);
            await_route(&lab, infra_env, "0.0.0.0", name, None);
        }
        assert_eq!(reported(&lab, &of_boot).hostname, "node-7");

        for infra_env in [&many, &servers, &only, &of_boot] {
            let host = only_host(lab.client(), infra_env).unwrap();
            assert_eq!(of_network(&host), [], "{}", infra_env.name);
        }
        let address = at(&old_names, "eth0");
        let read = format!("cat bond0/bonding/mode && {}", ports("bond0"));
        assert_eq!(lab.read(&address, &read), "802.3ad 4\neth2\neth3");
        let on_installed = "grep -E '^(mac-address|interface-name)=' /etc/NetworkManager/system-connections/eth2.nmconnection; \
                            cat eth2/bonding_slave/perm_hwaddr";
        let lines = lab.read(&address, on_installed).to_lowercase();
        let (found_by, mac) = lines.split_once('\n').unwrap();
        assert_eq!(
            found_by,
            format!("mac-address={mac}"),
            "it has another name there"
        );
        let told = of_network(&only_host(lab.client(), &old_names).unwrap());
        let is_told = |one: &HostFinding| one.about == "net.ifnames=0";
        assert!(told.iter().any(is_told), "{told:?}");
    });
}

/// Metrics of DHCP's routes, a bond by LACP under the name that its driver would give one by itself, and a card with another address.
fn document() -> Value {
    let dhcp = |more: Value| {
        let mut family = json!({"enabled": true, "dhcp": true});
        family
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        family
    };
    let card =
        |name: &str, ipv4: Value| json!({"name": name, "type": "ethernet", "state": "up", "ipv4": ipv4});
    let mut other_mac = card("eth4", dhcp(json!({})));
    other_mac["mac-address"] = json!("02:00:00:AA:3C:4D");
    json!({"interfaces": [
        card("eth0", dhcp(json!({"auto-route-metric": 700}))),
        card("eth1", dhcp(json!({"auto-route-metric": 90}))),
        {
            "name": "bond0", "type": "bond", "state": "up", "ipv4": dhcp(json!({})),
            "link-aggregation": {"mode": "802.3ad", "options": {"miimon": 140, "lacp_rate": "fast"}, "port": ["eth2", "eth3"]},
        },
        other_mac,
    ]})
}

#[test]
fn a_machine_has_the_network_that_its_document_says() {
    in_segment(|segment| {
        segment.serve(&Offer::Addresses);
        let lab = Lab::new();
        let card = |(slot, name): (u8, &str)| json!({"mac_address": mac(17, slot), "logical_nic_name": name});
        let names = ["eth0", "eth1", "eth2", "eth3", "eth4"];
        let cards: Vec<Value> = (4..).zip(names).map(card).collect();
        let networks = json!([{"network_yaml": document().to_string(), "mac_interface_map": cards}]);
        let infra_env = lab.infra_env("document", json!({ "static_network_config": networks }));
        let machine = machine(17, &["e1000e"; 5], segment).boot(Medium::Cd(lab.image(&infra_env)));
        let mut machines = [machine.start()];
        let [first, second, other] =
            ["enp0s4", "enp0s5", "enp0s8"].map(|name| await_address(&lab, &infra_env, &mut machines, name));

        for (name, metric) in [("enp0s4", 700), ("enp0s5", 90)] {
            await_route(&lab, &infra_env, "0.0.0.0", name, Some(metric));
        }
        let line = |name: &str, key: &str| lab.connection(&first, name, key);
        assert_eq!(line("eth0", "route-metric"), "route-metric=700");
        assert_eq!(line("eth1", "route-metric"), "route-metric=90");

        let options = ["mode", "miimon", "lacp_rate"].map(|option| format!("bond0/bonding/{option}"));
        let read = format!("cat bonding_masters {} && {}", options.join(" "), ports("bond0"));
        let wanted = "bond0\n802.3ad 4\n140\nfast 1\nenp0s6\nenp0s7";
        assert_eq!(lab.read(&second, &read), wanted);

        assert_eq!(lab.read(&other, "cat enp0s8/address"), "02:00:00:aa:3c:4d");
        let line = line("eth4", "cloned-mac-address");
        assert_eq!(line, "cloned-mac-address=02:00:00:AA:3C:4D");
        assert_eq!(of_network(&only_host(lab.client(), &infra_env).unwrap()), []);
    });
}
