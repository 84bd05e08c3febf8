use netlink_packet_route::link::{InfoKind, InfoPortKind, LinkHeader};
use netlink_packet_route::route::{RouteNextHop, RouteType};

use super::*;

fn dump_of(messages: Vec<RouteNetlinkMessage>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        let mut packet = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(message));
        packet.finalize();
        let mut buffer = vec![0; packet.buffer_len()];
        packet.serialize(&mut buffer);
        buffer.resize(buffer.len().next_multiple_of(4), 0);
        bytes.extend(buffer);
    }
    bytes
}

fn link_message(index: u32, attributes: Vec<LinkAttribute>) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header = LinkHeader {
        index,
        flags: LinkFlags::Up | LinkFlags::Running | LinkFlags::Multicast,
        ..LinkHeader::default()
    };
    message.attributes = attributes;
    RouteNetlinkMessage::NewLink(message)
}

fn route_message(table: u8, prefix: u8, attributes: Vec<RouteAttribute>) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = prefix;
    message.header.table = table;
    message.header.kind = RouteType::Unicast;
    message.attributes = attributes;
    RouteNetlinkMessage::NewRoute(message)
}

#[test]
fn a_bond_and_its_member_have_kind_and_permanent_address() {
    let bytes = dump_of(vec![
        link_message(
            3,
            vec![
                LinkAttribute::IfName("bond0".into()),
                LinkAttribute::Mtu(9000),
                LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bond)]),
            ],
        ),
        link_message(
            2,
            vec![
                LinkAttribute::IfName("eth0".into()),
                LinkAttribute::Address(vec![2, 0, 0, 0, 0, 9]),
                LinkAttribute::LinkInfo(vec![
                    LinkInfo::PortKind(InfoPortKind::Bond),
                    LinkInfo::PortData(InfoPortData::BondPort(vec![InfoBondPort::PermHwaddr(vec![
                        2, 0, 0, 0, 0, 1,
                    ])])),
                ]),
            ],
        ),
    ]);
    let links = parse_links(&bytes).0;
    assert_eq!((links[0].kind.as_deref(), links[0].mtu), (Some("bond"), 9000));
    assert_eq!(links[0].flags, ["up", "multicast", "running"]);
    assert_eq!(links[1].bond_permanent_address, Some(vec![2, 0, 0, 0, 0, 1]));
}

#[test]
fn only_the_main_table_counts_and_the_first_of_several_gateways() {
    let gateway = |last: u8| RouteAttribute::Gateway(RouteAddress::Inet(Ipv4Addr::new(10, 0, 0, last)));
    let mut hop = RouteNextHop::default();
    hop.interface_index = 7;
    hop.attributes = vec![gateway(1)];
    let mut other = RouteNextHop::default();
    other.interface_index = 8;
    other.attributes = vec![gateway(2)];
    let bytes = dump_of(vec![
        route_message(
            254,
            0,
            vec![
                RouteAttribute::MultiPath(vec![hop, other]),
                RouteAttribute::Priority(100),
            ],
        ),
        route_message(255, 32, vec![RouteAttribute::Oif(7)]),
        route_message(0, 0, vec![RouteAttribute::Table(1000), RouteAttribute::Oif(7)]),
    ]);
    let routes = parse_routes(&bytes);
    assert_eq!(routes.len(), 1);
    assert_eq!(
        (routes[0].link, routes[0].gateway, routes[0].metric),
        (Some(7), "10.0.0.1".parse().ok(), 100)
    );
    assert_eq!(routes[0].destination, "0.0.0.0".parse::<IpAddr>().unwrap());
}

#[test]
fn a_cut_or_garbled_dump_is_read_as_far_as_it_goes() {
    let bytes = dump_of(vec![
        link_message(1, vec![LinkAttribute::IfName("lo".into())]),
        link_message(2, vec![LinkAttribute::IfName("eth0".into())]),
    ]);
    for end in 0..bytes.len() {
        assert!(parse_links(&bytes[..end]).0.len() < 2);
    }
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut broken = bytes.clone();
            broken[at] = value;
            let _ = parse_links(&broken).0;
            let _ = parse_addresses(&broken);
            let _ = parse_routes(&broken);
        }
    }
}

#[test]
fn a_link_whose_message_cannot_be_parsed_is_read_from_sysfs_and_told() {
    use crate::testing::Machine;
    let mut bytes = dump_of(vec![link_message(2, vec![LinkAttribute::IfName("eth0".into())])]);
    let mut bad = dump_of(vec![link_message(7, vec![LinkAttribute::Mtu(1500)])]);
    // A driver's MTU of two bytes.
    let length = bad.len();
    assert_eq!(bad[length - 8..length - 4], [8, 0, 4, 0]);
    bad[length - 8] = 6;
    bytes.extend(bad);
    let machine = Machine::new()
        .nic("pci0/net/eth0", &[("ifindex", "2")])
        .nic(
            "pci0/net/ens7",
            &[
                ("ifindex", "7"),
                ("address", "00:25:90:00:00:07"),
                ("mtu", "9000"),
                ("flags", "0x1003"),
            ],
        )
        .answer("netlink.links", STANDARD.encode(bytes).into());
    let Links { all: links, filled } = links(&machine.root()).unwrap();
    assert_eq!(links.len(), 2);
    assert_eq!((links[1].name.as_str(), links[1].mtu), ("ens7", 9000));
    assert_eq!(links[1].address, [0, 0x25, 0x90, 0, 0, 7]);
    assert_eq!(filled.len(), 1);
    assert!(
        filled[0].0 == "ens7" && filled[0].1.to_string().contains("cannot be parsed"),
        "{filled:?}"
    );
}
