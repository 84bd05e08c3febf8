use muster_api::live::network::{Address, Route as SaidRoute};

use super::*;
use crate::config::live::KernelArguments;
use crate::testing::{self, LEFT};

fn address(text: &str) -> Address {
    let (ip, prefix) = text.split_once('/').unwrap();
    Address {
        ip: ip.parse().unwrap(),
        prefix: prefix.parse().unwrap(),
    }
}

/// With an address and a gateway of the VLAN.
fn network() -> StaticNetwork {
    let mut network = testing::network();
    let vlan = network.interfaces.last_mut().unwrap();
    vlan.ipv4.addresses = vec![address("10.93.0.5/24")];
    vlan.mtu = Some(1400);
    network.routes = vec![SaidRoute {
        destination: address("0.0.0.0/0"),
        gateway: Some("10.93.0.1".parse().unwrap()),
        interface: "bond0.250".into(),
        metric: None,
    }];
    network.name_servers = vec!["10.93.0.1".parse().unwrap()];
    network
}

fn link(index: u32) -> Link {
    Link {
        index,
        name: format!("link{index}"),
        mac: vec![0; 6],
        wired: true,
        up: true,
        carrier: true,
        managed: true,
        ..Link::default()
    }
}

#[test]
fn a_machine_takes_the_network_that_names_one_of_its_cards() {
    let networks = [StaticNetwork::default(), network()];
    let own = ["52:54:00:AA:BB:01", "52:54:00:00:00:00"];
    assert_eq!(
        Fixed::choose(&networks[1..], own.into_iter()),
        Some(Fixed::new(network()))
    );
    assert_eq!(
        Fixed::choose(&networks[1..], ["52:54:00:aa:bb:03"].into_iter()),
        None
    );
    assert_eq!(
        Fixed::choose(&networks, own.into_iter()),
        Some(Fixed::new(StaticNetwork::default())),
        "one without cards is for every machine"
    );
}

#[test]
fn the_vlans_of_a_card_are_those_of_its_bond_too() {
    let fixed = Fixed::new(network());
    assert_eq!(fixed.vlans_on("left"), [250]);
    assert!(fixed.vlans_on("other").is_empty());
}

#[test]
fn a_vlan_on_a_bond_has_the_address_and_its_ports_have_none() {
    let fixed = Fixed::new(network());
    assert_eq!(fixed.wanted("right", &link(3), &[]), Wanted::port());
    let bond = fixed.wanted("bond0", &link(4), &[]);
    assert_eq!((bond.dhcp4, bond.dhcp6, bond.configuration), (false, false, None));
    let vlan = fixed.wanted("bond0.250", &link(5), &[]).configuration.unwrap();
    assert_eq!(vlan.addresses, [("10.93.0.5".parse().unwrap(), 24)]);
    assert_eq!((vlan.routes[0].metric, vlan.routes[0].onlink), (None, false));
    assert_eq!(vlan.mtu, Some(1400));
    let other = fixed.wanted("other", &link(6), &[]);
    assert!(other.dhcp4 && other.dhcp6);
    assert_eq!(
        other.configuration.unwrap().name_servers,
        ["10.93.0.1".parse::<IpAddr>().unwrap()],
        "those of the machine are asked first, whatever a lease has"
    );
}

fn of_arguments(line: &str) -> Fixed {
    let (network, wrong) = crate::net::dracut::network(&KernelArguments::parse(line));
    assert_eq!(wrong, Vec::<String>::new());
    Fixed::new(network.unwrap())
}

#[test]
fn an_address_for_any_card_is_that_of_the_first_with_a_carrier_and_stays_there() {
    let fixed = of_arguments("ip=10.0.2.77::10.0.2.2:24:::off");
    let has = |link: &Link| {
        let wanted = fixed.wanted(&link.name, link, &[]);
        let configuration = wanted.configuration.unwrap_or_default();
        assert_eq!(wanted.dhcp4, configuration.addresses.is_empty());
        !configuration.addresses.is_empty() && configuration.routes.len() == 1
    };
    let dark = Link {
        carrier: false,
        ..link(2)
    };
    assert!(!has(&dark));
    assert!(has(&link(3)));
    assert!(!has(&link(2)) && !has(&link(4)));
    let pulled = Link {
        carrier: false,
        ..link(3)
    };
    assert!(has(&pulled));
}

#[test]
fn name_servers_and_routes_are_beside_dhcp() {
    let fixed = of_arguments("ip=dhcp nameserver=10.9.9.9 rd.route=10.200.0.0/16:10.0.2.2");
    let at = |present: &[(IpAddr, u8)]| fixed.wanted("ens3", &link(3), present);
    let before = at(&[]);
    assert!(before.dhcp4);
    let before = before.configuration.unwrap();
    assert_eq!((before.name_servers.len(), before.routes.len()), (1, 0));
    let elsewhere = at(&[("192.0.2.5".parse().unwrap(), 24)]);
    assert_eq!(elsewhere.configuration.unwrap().routes.len(), 0);
    let after = at(&[("10.0.2.15".parse().unwrap(), 24)]).configuration.unwrap();
    assert_eq!(after.routes[0].gateway, Some("10.0.2.2".parse().unwrap()));
    let named = of_arguments("ip=ens3:dhcp nameserver=10.9.9.9 rd.route=10.200.0.0/16:10.0.2.2:ens3");
    let named = named.wanted("ens3", &link(3), &[]).configuration.unwrap();
    assert_eq!((named.name_servers.len(), named.routes.len()), (1, 1));
}

#[test]
fn name_servers_of_arguments_are_asked_before_those_of_the_image() {
    let said = of_arguments("nameserver=10.9.9.9 ip=dhcp").0;
    let own = [LEFT];
    let fixed = Fixed::of_machine(Some(&said), &[network()], own.into_iter()).unwrap();
    assert_eq!(fixed.0.interfaces, network().interfaces);
    assert_eq!(fixed.0.name_servers.len(), 2);
    assert_eq!(fixed.0.name_servers[0], said.name_servers[0]);
    let said = of_arguments("ip=ens3:dhcp").0;
    let fixed = Fixed::of_machine(Some(&said), &[network()], own.into_iter()).unwrap();
    assert_eq!(fixed.0, said);
}

#[test]
fn a_boot_card_that_is_named_has_what_is_said_of_its_name() {
    let fixed =
        of_arguments("bond=bond0:link3,link4 ip=10.0.2.77::10.0.2.2:24:::off BOOTIF=01-02-00-00-aa-20-00");
    assert_eq!(fixed.wanted(BOOT_CARD, &link(3), &[]), Wanted::port());
    let alone = fixed.wanted(BOOT_CARD, &link(5), &[]).configuration.unwrap();
    assert_eq!(alone.addresses.len(), 1);
}
