use std::collections::BTreeMap;

use muster_api::live::network::{BondMode, Bridge, HashPolicy, StaticNetwork};

use super::*;
use crate::net::configuration::Route;
use crate::testing::{self, LEFT, RIGHT, interface};

/// Also a bridge of a third card, by DHCP; the bond is by LACP.
fn network() -> StaticNetwork {
    let mut network = testing::network();
    let [.., bond, vlan] = network.interfaces.as_mut_slice() else {
        unreachable!("it has both")
    };
    if let Kind::Bond(bond) = &mut bond.kind {
        bond.mode = BondMode::Lacp;
        bond.miimon = Some(140);
        bond.lacp_fast = true;
        bond.xmit_hash_policy = Some(HashPolicy::Layer34);
        bond.primary = Some("right".into());
    }
    bond.mac = Some("02:00:00:00:00:aa".into());
    (bond.mtu, vlan.mtu) = (Some(9000), Some(9000));
    let bridge = Bridge {
        ports: vec!["enp0s4".into()],
        stp: false,
    };
    let mut bridge = interface("br0", Kind::Bridge(bridge));
    bridge.ipv4.dhcp = true;
    network.interfaces.push(interface("enp0s4", Kind::Ethernet));
    network.interfaces.push(bridge);
    network
}

/// A machine with all of it set.
struct Machine {
    links: Vec<Link>,
    addresses: Vec<Address>,
    routes: Vec<PresentRoute>,
    name_servers: Vec<IpAddr>,
    options: BTreeMap<&'static str, &'static str>,
}

const GATEWAY: &str = "10.93.0.1";

fn configuration() -> Configuration {
    Configuration {
        addresses: vec![("10.93.0.5".parse().unwrap(), 24)],
        routes: vec![Route {
            destination: ("0.0.0.0".parse().unwrap(), 0),
            gateway: Some(GATEWAY.parse().unwrap()),
            onlink: false,
            metric: Some(100),
        }],
        name_servers: vec!["10.93.0.53".parse().unwrap()],
        ..Configuration::default()
    }
}

impl Machine {
    fn new() -> Self {
        let mac = |text: &str| devices::bytes(text).unwrap();
        let link = |index, name: &str, own: &str, controller, shape| Link {
            index,
            name: name.into(),
            mac: mac(own),
            wired: true,
            controller,
            shape,
            mtu: 1500,
            carrier: true,
            up: true,
            ..Link::default()
        };
        let shared = "02:00:00:00:00:aa";
        let mut links = vec![
            link(2, "enp0s2", shared, Some(5), Shape::Plain),
            link(3, "enp0s3", shared, Some(5), Shape::Plain),
            link(4, "enp0s4", "52:54:00:00:00:03", Some(7), Shape::Plain),
            link(5, "bond0", shared, None, Shape::Bond),
            link(
                6,
                "bond0.250",
                shared,
                None,
                Shape::Vlan {
                    base: Some(5),
                    id: 250,
                },
            ),
            link(7, "br0", "52:54:00:00:00:03", None, Shape::Bridge { stp: false }),
        ];
        links[0].own_mac = Some(mac(LEFT));
        links[1].own_mac = Some(mac(RIGHT));
        links[3].mtu = 9000;
        links[4].mtu = 9000;
        let address = |index, address: &str| Address {
            index,
            address: address.parse().unwrap(),
            prefix: 24,
            global: true,
            usable: true,
        };
        Self {
            links,
            addresses: vec![address(6, "10.93.0.5"), address(7, "10.94.0.50")],
            routes: vec![PresentRoute {
                destination: "0.0.0.0".parse().unwrap(),
                prefix: 0,
                gateway: Some(GATEWAY.parse().unwrap()),
                link: Some(6),
                metric: 100,
                from_router_advertisement: false,
            }],
            name_servers: vec!["10.93.0.53".parse().unwrap()],
            options: BTreeMap::from([
                ("mode", "802.3ad"),
                ("miimon", "140"),
                ("lacp_rate", "fast"),
                ("xmit_hash_policy", "layer3+4"),
                ("primary", "enp0s3"),
            ]),
        }
    }

    fn link(&mut self, name: &str) -> &mut Link {
        self.links.iter_mut().find(|link| link.name == name).unwrap()
    }

    fn lose(&mut self, name: &str) {
        self.links.retain(|link| link.name != name);
    }

    /// The differences from the network, a line each.
    fn differences(&self, network: StaticNetwork) -> Vec<String> {
        self.problems(network).iter().map(Problem::line).collect()
    }

    fn problems(&self, network: StaticNetwork) -> Vec<Problem> {
        let fixed = Fixed::new(network);
        let present = Present {
            links: &self.links,
            addresses: &self.addresses,
            routes: &self.routes,
            name_servers: &self.name_servers,
            option: &|bond, option| {
                assert_eq!(bond, "bond0");
                self.options.get(option).map(|value| (*value).to_owned())
            },
        };
        let find = |name: &str| match fixed.card(name) {
            Some(mac) => self.links.iter().find(|link| mac_text(own_mac(link)) == mac),
            None => self.links.iter().find(|link| link.name == name),
        };
        let mut problems = Vec::new();
        for interface in &fixed.0.interfaces {
            let planned = Planned {
                interface,
                link: find(&interface.name),
                parts: interface.kind.parts().iter().map(|part| find(part)).collect(),
                configuration: (interface.name == "bond0.250").then(configuration),
                why: "",
            };
            let all = differences(&fixed, &planned, &present).into_iter();
            problems.extend(all.map(|one| one.problem));
        }
        problems
    }
}

#[test]
fn a_machine_that_has_what_was_asked_for_has_no_difference() {
    assert_eq!(Machine::new().differences(network()), Vec::<String>::new());
}

/// One change of the machine, and the only difference that follows.
type Case = (fn(&mut Machine), &'static str);

const CASES: [Case; 18] = [
    (
        |machine| {
            machine.options.insert("mode", "balance-rr");
        },
        "bond0: its mode is balance-rr, and 802.3ad is configured",
    ),
    (
        |machine| {
            machine.options.insert("miimon", "0");
        },
        "bond0: its miimon is 0, and 140 is configured",
    ),
    (
        |machine| {
            machine.options.insert("lacp_rate", "slow");
        },
        "bond0: its lacp_rate is slow, and fast is configured",
    ),
    (
        |machine| {
            machine.options.insert("xmit_hash_policy", "layer2");
        },
        "bond0: its xmit_hash_policy is layer2, and layer3+4 is configured",
    ),
    (
        |machine| {
            machine.options.insert("primary", "");
        },
        "bond0: its primary is none, and right is configured",
    ),
    (
        |machine| machine.link("enp0s3").controller = None,
        "bond0: its ports are left, and left, right are configured",
    ),
    (
        |machine| machine.link("enp0s4").controller = Some(5),
        // And of the bridge, which has lost it.
        "bond0: its ports are enp0s4, left, right, and left, right are configured",
    ),
    (
        |machine| machine.link("bond0").mac = vec![2, 0, 0, 0, 0, 0xbb],
        "bond0: its MAC address is 02:00:00:00:00:bb, and 02:00:00:00:00:aa is configured",
    ),
    (
        |machine| machine.link("bond0").mtu = 1500,
        "bond0: its MTU is 1500, and 9000 is configured",
    ),
    (
        |machine| machine.link("br0").shape = Shape::Bridge { stp: true },
        "br0: its STP is on, and off is configured",
    ),
    (
        |machine| {
            machine.link("bond0.250").shape = Shape::Vlan {
                base: Some(5),
                id: 25,
            }
        },
        "bond0.250: it is another device, and VLAN 250 over bond0 is configured",
    ),
    (
        |machine| machine.addresses[0].address = "10.93.0.6".parse().unwrap(),
        "bond0.250: the address 10.93.0.5/24 is configured, and is not set",
    ),
    (
        |machine| machine.addresses[0].prefix = 16,
        "bond0.250: the address 10.93.0.5/16 is set, and 10.93.0.5/24 is configured",
    ),
    (
        |machine| machine.addresses[0].usable = false,
        "bond0.250: the address 10.93.0.5/24 is configured, and another machine has it",
    ),
    (
        |machine| machine.routes.clear(),
        "bond0.250: the route to 0.0.0.0/0 is missing, and by 10.93.0.1 with metric 100 is configured",
    ),
    (
        |machine| machine.routes[0].metric = 5,
        "bond0.250: the route to 0.0.0.0/0 is by 10.93.0.1 with metric 5, and by 10.93.0.1 with metric 100 is configured",
    ),
    (
        |machine| machine.name_servers = vec!["10.0.0.1".parse().unwrap()],
        "bond0.250: the name server 10.93.0.53 is configured, and not in use; in use are: 10.0.0.1",
    ),
    (
        |machine| {
            machine.addresses.pop();
        },
        "br0: it has no address, and one by DHCP is configured",
    ),
];

#[test]
fn each_thing_that_differs_is_told_with_both_values() {
    for (change, wanted) in CASES {
        let mut machine = Machine::new();
        change(&mut machine);
        let told = machine.differences(network());
        assert_eq!(told.first().map(String::as_str), Some(wanted), "{told:?}");
    }
}

#[test]
fn an_option_that_the_kernel_does_not_have_is_no_difference_of_its_value() {
    let machine = Machine::new();
    let mut network = network();
    let Kind::Bond(bond) = &mut network.interfaces[2].kind else {
        unreachable!("it is the bond")
    };
    bond.set("lacp_active", "off").unwrap();
    let problems = machine.problems(network);
    let lines: Vec<String> = problems.iter().map(Problem::line).collect();
    assert_eq!(
        lines,
        ["bond0: this kernel has no option lacp_active, and off is configured"]
    );
    assert_eq!(
        problems[0].advice,
        "Leave lacp_active out of the configuration of bond0."
    );
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let mut machine = Machine::new();
    for gone in ["bond0", "bond0.250"] {
        machine.lose(gone);
    }
    let problems = machine.problems(network());
    let vlan = problems.iter().find(|one| one.about == "bond0.250").unwrap();
    assert_eq!(
        vlan.text,
        "it cannot be made: bond0, over which it lies, is named by the configuration and is not there"
    );
    assert!(vlan.advice.starts_with("Add bond0"), "{}", vlan.advice);

    let mut machine = Machine::new();
    machine.lose("enp0s3");
    let told = machine.differences(network());
    assert_eq!(
        told,
        [
            "right: the configuration names it, and no card of this machine has the address 52:54:00:aa:bb:02 \
             (cards are 52:54:00:aa:bb:01, 52:54:00:00:00:03)",
            "bond0: its ports are left, and left, right are configured",
        ]
    );
    let mut machine = Machine::new();
    machine.link("enp0s4").name = "enp0s9".into();
    let told = machine.differences(network());
    assert_eq!(
        told[0],
        "enp0s4: the configuration names it, and it is not there (cards are enp0s2, enp0s3, enp0s9)"
    );
}

#[test]
fn a_vlan_whose_base_is_narrower_names_that() {
    let mut machine = Machine::new();
    machine.link("bond0.250").mtu = 1500;
    machine.link("bond0").mtu = 1500;
    let mut network = network();
    network.interfaces[2].mtu = None;
    let problem = machine.problems(network).remove(0);
    assert_eq!(
        problem.line(),
        "bond0.250: its MTU is 1500, and 9000 is configured: bond0 below it has 1500"
    );
    assert!(problem.advice.contains("9000 for bond0"), "{}", problem.advice);
}

#[test]
fn one_family_of_addresses_is_enough_for_a_configuration_of_both() {
    let mut machine = Machine::new();
    let mut network = network();
    network.interfaces[5].ipv6.autoconf = true;
    assert_eq!(machine.differences(network.clone()), Vec::<String>::new());
    machine.addresses.pop();
    machine.link("br0").carrier = false;
    let problem = machine.problems(network).remove(0);
    assert_eq!(
        problem.line(),
        "br0: it has no address, and one by DHCP or router advertisements is configured"
    );
    assert!(problem.advice.contains("cable"), "{}", problem.advice);
}
