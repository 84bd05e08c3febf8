use std::net::IpAddr;

use muster_api::live::network::{BondMode, Interface, Kind, StaticNetwork};

use super::*;

fn read(line: &str) -> (Option<StaticNetwork>, Vec<String>) {
    network(&KernelArguments::parse(line))
}

fn good(line: &str) -> StaticNetwork {
    let (network, wrong) = read(line);
    assert_eq!(wrong, Vec::<String>::new(), "{line}");
    network.unwrap()
}

/// The only part of the line that is not understood.
fn wrong(line: &str) -> String {
    let (_, wrong) = read(line);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    wrong.into_iter().next().unwrap()
}

fn one<'a>(network: &'a StaticNetwork, name: &str) -> &'a Interface {
    network.interfaces.iter().find(|one| one.name == name).unwrap()
}

fn addresses(interface: &Interface) -> Vec<String> {
    let all = interface.ipv4.addresses.iter().chain(&interface.ipv6.addresses);
    all.map(ToString::to_string).collect()
}

#[test]
fn nothing_is_said_by_other_arguments_and_by_what_every_card_has_anyway() {
    for line in [
        "quiet console=ttyS0",
        "ip=dhcp",
        "ip=auto",
        "BOOTIF=01-52-54-00-aa-00-01",
        "ip=dhcp rd.neednet=1",
    ] {
        assert_eq!(read(line).0, None, "{line}");
    }
}

#[test]
fn several_arguments_of_one_card_add_up() {
    for line in [
        "ip=ens3:dhcp ip=[2001:db8:5::5]:::64::ens3:off",
        "ip=[2001:db8:5::5]:::64::ens3:off ip=ens3:dhcp",
    ] {
        let network = good(line);
        let card = one(&network, "ens3");
        assert!(card.ipv4.dhcp && !card.ipv6.autoconf, "{line}");
        assert_eq!(addresses(card), ["2001:db8:5::5/64"], "{line}");
    }
    let both = good(
        "ip=192.0.2.5::192.0.2.1:24::ens3:none ip=[2001:db8::5]::[2001:db8::1]:64::ens3:none ip=192.0.2.6:::24::ens3:none",
    );
    let card = one(&both, "ens3");
    assert_eq!(
        addresses(card),
        ["192.0.2.5/24", "192.0.2.6/24", "2001:db8::5/64"]
    );
    assert!(!card.ipv4.dhcp && !card.ipv6.autoconf);
    assert_eq!(both.routes.len(), 2, "a default route of each family");
    let off = good("ip=ens3:dhcp ip=ens3:none");
    assert!(one(&off, "ens3").ipv4.is_off() && one(&off, "ens3").ipv6.is_off());
}

#[test]
fn what_no_ip_names_is_automatic_but_for_ports_and_bases() {
    let network =
        good("bond=bond0:ens6,ens7:mode=active-backup,miimon=100 vlan=ens5.103:ens5 bridge=br0:ens8 ip=dhcp");
    for name in ["bond0", "ens5.103", "br0"] {
        let device = one(&network, name);
        assert!(device.ipv4.dhcp && device.ipv6.autoconf, "{name}");
    }
    assert!(one(&network, "ens5").ipv4.is_off());
    let explicit = good("vlan=ens5.103:ens5 ip=ens5:dhcp");
    assert!(one(&explicit, "ens5").ipv4.dhcp);
}

#[test]
fn an_address_without_interface_is_of_the_card_of_bootif_or_of_any_card() {
    let any = good("ip=10.0.2.77::10.0.2.2:24:::off");
    assert_eq!(addresses(any.others.as_ref().unwrap()), ["10.0.2.77/24"]);
    assert_eq!(any.routes[0].interface, "");
    for line in [
        "ip=10.0.2.77::10.0.2.2:24:::off BOOTIF=01-02-00-00-AA-20-00",
        "ip=10.0.2.77::10.0.2.2:24:node-7:BOOTIF:off BOOTIF=01-02-00-00-aa-20-00",
    ] {
        let network = good(line);
        assert_eq!(network.others, None, "{line}");
        assert_eq!(network.cards[0].mac, "02:00:00:aa:20:00", "{line}");
        assert_eq!(network.cards[0].name, network.interfaces[0].name);
        assert_eq!(addresses(&network.interfaces[0]), ["10.0.2.77/24"]);
        assert_eq!(network.routes[0].interface, network.interfaces[0].name);
    }
    assert!(wrong("ip=10.0.2.77::10.0.2.2:24::BOOTIF:off").contains("no argument BOOTIF="));
}

#[test]
fn an_address_with_mask_gateway_and_name_servers() {
    let network = good(
        "ip=192.0.2.5::192.0.2.1:255.255.255.0:host:ens3:none:192.0.2.53:192.0.2.54 nameserver=192.0.2.55",
    );
    let card = one(&network, "ens3");
    assert!(!card.ipv4.dhcp);
    assert_eq!(addresses(card), ["192.0.2.5/24"]);
    assert_eq!(network.routes[0].gateway, Some("192.0.2.1".parse().unwrap()));
    let servers: Vec<String> = network.name_servers.iter().map(IpAddr::to_string).collect();
    assert_eq!(servers, ["192.0.2.53", "192.0.2.54", "192.0.2.55"]);
    assert_eq!(network.hostname.as_deref(), Some("host"));
}

#[test]
fn mtu_and_mac_address_follow_either_form() {
    for line in [
        "ip=ens3:dhcp:1400:52:54:00:12:34:57",
        "ip=ens3:dhcp:1400:52-54-00-12-34-57",
        "ip=:::::ens3:dhcp:1400:52:54:00:12:34:57",
    ] {
        let network = good(line);
        let card = one(&network, "ens3");
        assert_eq!(
            (card.ipv4.dhcp, card.mtu, card.mac.as_deref()),
            (true, Some(1400), Some("52:54:00:12:34:57")),
            "{line}"
        );
    }
    assert!(wrong("ip=ens3:dhcp:huge").contains("\"huge\" is no MTU"));
}

#[test]
fn addresses_of_ipv6_are_in_brackets() {
    let network = good(
        "ip=[2001:db8::5]::[2001:db8::1]:64::ens3:none rd.route=[2001:db8:9::]/48:[2001:db8::2] rd.route=[2001:db8:8::/47]:[2001:db8::2]",
    );
    assert_eq!(addresses(one(&network, "ens3")), ["2001:db8::5/64"]);
    let prefixes: Vec<u8> = network
        .routes
        .iter()
        .map(|route| route.destination.prefix)
        .collect();
    assert_eq!(prefixes, [0, 48, 47]);
    assert!(network.routes.iter().all(|route| route.interface == "ens3"));
}

#[test]
fn name_servers_and_routes_need_no_static_address() {
    let network = good("ip=dhcp nameserver=10.9.9.9 rd.route=10.200.0.0/16:10.0.2.2");
    assert_eq!(network.name_servers.len(), 1);
    assert!(network.others.is_some());
    assert_eq!(network.routes[0].interface, "");
    let bonded = good("bond=bond0:ens3,ens4 rd.route=10.200.0.0/16:10.0.2.2");
    assert_eq!(bonded.routes[0].interface, "bond0", "the first that is no port");
    let named = good("ip=ens3:dhcp bootdev=ens4 rd.route=10.200.0.0/16:10.0.2.2");
    assert_eq!(named.routes[0].interface, "ens4");
}

#[test]
fn a_vlan_on_a_bond_by_lacp() {
    let network = good(
        "ip=10.93.0.5::10.93.0.1:24::bond0.100:none bond=bond0:ens3,ens4:mode=802.3ad,miimon=50,lacp_rate=fast:9000 vlan=bond0.100:bond0",
    );
    let names: Vec<&str> = network.interfaces.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names,
        ["ens3", "ens4", "bond0", "bond0.100"],
        "each after its parts"
    );
    let Kind::Bond(bond) = &network.interfaces[2].kind else {
        panic!("{:?}", network.interfaces[2])
    };
    assert_eq!(
        (bond.mode, bond.miimon, bond.lacp_fast),
        (BondMode::Lacp, Some(50), true)
    );
    assert_eq!(network.interfaces[2].mtu, Some(9000));
    assert!(matches!(&network.interfaces[3].kind, Kind::Vlan(vlan) if vlan.id == 100));
}

#[test]
fn options_of_a_bond_that_the_kernel_has_are_kept_and_the_others_named() {
    let network = good(
        "bond=bond1:ens6,ens7:mode=active-backup,fail_over_mac=1,arp_interval=50,arp_ip_target=10.0.0.1,10.0.0.2",
    );
    let Kind::Bond(bond) = &one(&network, "bond1").kind else {
        panic!("{network:?}")
    };
    assert_eq!(bond.options["fail_over_mac"], "active");
    assert_eq!(bond.options["arp_ip_target"], "10.0.0.1,10.0.0.2");
    for (line, part) in [
        (
            "bond=bond1:ens6,ens7:mode=active-backup,flux=1",
            "there is no bond option flux",
        ),
        ("bond=bond1:ens6,ens7:mode=fastest", "mode cannot be \"fastest\""),
        (
            "bond=bond1:ens6,ens7:mode=active-backup,lacp_rate=fast",
            "lacp_rate is not of mode active-backup",
        ),
        (
            "bond=bond1:ens6,ens7:mode=active-backup,primary=ens8",
            "the bond option primary names ens8, which is none of its ports",
        ),
    ] {
        assert!(wrong(line).contains(part), "{line}");
        let network = read(line).0.unwrap();
        assert_eq!(one(&network, "bond1").kind.ports(), ["ens6", "ens7"], "{line}");
    }
}

#[test]
fn cards_may_be_named_by_their_address() {
    let network = good("ifname=net0:52:54:00:AA:00:01 ip=net0:dhcp ip=52-54-00-AA-00-02:auto6");
    let cards: Vec<&str> = network.cards.iter().map(|card| card.mac.as_str()).collect();
    assert_eq!(cards, ["52:54:00:aa:00:01", "52:54:00:aa:00:02"]);
    assert!(network.interfaces[0].ipv4.dhcp && network.interfaces[1].ipv6.autoconf);
    let twice = good("ip=52-54-00-AA-00-02:dhcp ip=[2001:db8::5]:::64::52-54-00-aa-00-02:off");
    assert_eq!((twice.cards.len(), twice.interfaces.len()), (1, 1));
}

#[test]
fn what_is_not_understood_is_named_and_the_rest_holds() {
    let (network, wrong) = read(
        "ip=ens3:dhcp ip=192.0.2.5::192.0.2.1:24::ens4:sometimes vlan=five:ens3 team=team0:ens5,ens6 ip=team0:dhcp",
    );
    let network = network.unwrap();
    let names: Vec<&str> = network.interfaces.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["ens3", "ens4"]);
    assert_eq!(addresses(&network.interfaces[1]), ["192.0.2.5/24"]);
    let expected = [
        (
            "ip=192.0.2.5::192.0.2.1:24::ens4:sometimes is not understood: ",
            "sometimes",
        ),
        ("vlan=five:ens3 is not understood: ", "ends with its number"),
        ("team=team0:ens5,ens6 is not understood: ", "bond="),
    ];
    assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
    for (wrong, (argument, reason)) in wrong.iter().zip(expected) {
        assert!(wrong.starts_with(argument) && wrong.contains(reason), "{wrong}");
    }
}
