use super::*;
use crate::testing::Machine;

fn link(index: u32, name: &str) -> Link {
    Link {
        index,
        name: name.into(),
        address: vec![2, 0, 0, 0, 0, 0xAB],
        mtu: 1500,
        ..Link::default()
    }
}

fn address(ip: &str, prefix: u8) -> Address {
    Address {
        link: 1,
        ip: ip.parse().unwrap(),
        prefix,
    }
}

fn advertised(destination: &str, prefix: u8) -> Route {
    Route {
        destination: destination.parse().unwrap(),
        prefix,
        gateway: None,
        link: Some(1),
        metric: 0,
        from_router_advertisement: true,
    }
}

fn one(network: Network) -> Interface {
    let machine = Machine::new();
    interfaces(&machine.root(), &network).remove(0)
}

#[test]
fn an_infiniband_address_has_twenty_octets() {
    let address: Vec<u8> = (0..20).collect();
    let found = one(Network {
        links: vec![Link {
            address,
            ..link(1, "ib0")
        }],
        ..Network::default()
    });
    assert_eq!(
        found.mac_address,
        "00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13"
    );
}

#[test]
fn a_member_of_a_bond_has_its_own_address_and_lo_has_none() {
    let member = Link {
        bond_permanent_address: Some(vec![2, 0, 0, 0, 0, 1]),
        ..link(1, "eth0")
    };
    assert_eq!(
        one(Network {
            links: vec![member],
            ..Network::default()
        })
        .mac_address,
        "02:00:00:00:00:01"
    );
    let lo = Link {
        address: vec![0; 6],
        ..link(1, "lo")
    };
    assert_eq!(
        one(Network {
            links: vec![lo],
            ..Network::default()
        })
        .mac_address,
        ""
    );
}

#[test]
fn a_single_address_takes_the_prefix_that_a_router_announces_for_it() {
    let network = |routes| Network {
        links: vec![link(1, "eth0")],
        addresses: vec![address("fd00:2::17", 128), address("fd00:3::17", 64)],
        routes,
    };
    let found = one(network(vec![
        advertised("::", 0),
        advertised("fd00:9::", 64),
        advertised("fd00:2::", 64),
        advertised("fd00::", 16),
    ]));
    assert_eq!(found.ipv6_addresses, ["fd00:2::17/64", "fd00:3::17/64"]);
    let elsewhere = Route {
        link: Some(2),
        ..advertised("fd00:2::", 64)
    };
    let by_hand = Route {
        from_router_advertisement: false,
        ..advertised("fd00:2::", 64)
    };
    let found = one(network(vec![elsewhere, by_hand, advertised("::", 0)]));
    assert_eq!(found.ipv6_addresses, ["fd00:2::17/128", "fd00:3::17/64"]);
}

#[test]
fn link_local_addresses_are_left_out_and_those_of_lo_stay() {
    let found = one(Network {
        links: vec![link(1, "lo")],
        addresses: vec![
            address("127.0.0.1", 8),
            address("169.254.7.7", 16),
            address("::1", 128),
            address("fe80::1", 64),
        ],
        routes: vec![],
    });
    assert_eq!(found.ipv4_addresses, ["127.0.0.1/8"]);
    assert_eq!(found.ipv6_addresses, ["::1/128"]);
}

#[test]
fn what_sysfs_says_of_a_link_and_what_it_refuses_to_say() {
    let machine = Machine::new()
        .nic(
            "pci0000:00/net/eth0",
            &[
                ("carrier", "1"),
                ("speed", "-1"),
                ("device/vendor", "0x8086"),
                ("device/device", "0x1592"),
            ],
        )
        .nic("virtual/net/bond0", &[("carrier", "0")])
        .nic("virtual/net/lo", &[]);
    let network = Network {
        links: vec![
            link(1, "lo"),
            link(2, "eth0"),
            Link {
                kind: Some("bond".into()),
                ..link(3, "bond0")
            },
            link(4, "gone0"),
        ],
        ..Network::default()
    };
    let found = interfaces(&machine.root(), &network);
    let kinds: Vec<&str> = found.iter().map(|interface| interface.kind.as_str()).collect();
    assert_eq!(kinds, ["device", "physical", "bond", "physical"]);
    assert_eq!((found[1].speed_mbps, found[1].has_carrier), (-1, true));
    assert_eq!(
        (found[1].vendor.as_str(), found[1].product.as_str()),
        ("0x8086", "0x1592")
    );
    assert!(!found[0].has_carrier && !found[2].has_carrier);
}
