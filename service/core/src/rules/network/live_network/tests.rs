use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
use muster_api::live::network::BondMode;

use super::*;

fn host(yaml: &str, cards: &[(&str, &str)]) -> HostStaticNetworkConfig {
    let card = |(mac, name): &(&str, &str)| MacInterface {
        mac_address: Some((*mac).to_owned()),
        logical_nic_name: Some((*name).to_owned()),
    };
    HostStaticNetworkConfig {
        network_yaml: Some(yaml.to_owned()),
        mac_interface_map: cards.iter().map(card).collect(),
    }
}

const CARDS: [(&str, &str); 2] = [("52:54:00:AA:00:01", "one"), ("52:54:00:aa:00:02", "two")];

fn refused(yaml: &str, part: &str) {
    let why = live_network(&host(yaml, &CARDS)).unwrap_err();
    assert!(why.contains(part), "{why}");
}

#[test]
fn a_vlan_on_a_bond_is_understood_whole() {
    let yaml = "
interfaces:
- name: bond0.100
  type: vlan
  state: up
  mtu: 1400
  vlan: {base-iface: bond0, id: 100}
  ipv4:
    enabled: true
    dhcp: false
    address: [{ip: 10.93.0.5, prefix-length: 24}]
  ipv6: {enabled: false}
- name: bond0
  type: bond
  state: up
  copy-mac-from: two
  link-aggregation:
    mode: 802.3ad
    options: {miimon: '140', lacp_rate: fast, xmit_hash_policy: layer3+4}
    port: [one, two]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.93.0.1, next-hop-interface: bond0.100, table-id: 254, metric: -1}
dns-resolver:
  config: {server: [10.93.0.1], search: [lab.example]}
";
    let network = live_network(&host(yaml, &CARDS)).unwrap();
    let names: Vec<&str> = network.interfaces.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names,
        ["one", "two", "bond0", "bond0.100"],
        "each after its parts"
    );
    assert_eq!(network.cards[0].mac, "52:54:00:aa:00:01");
    let bond = &network.interfaces[2];
    assert_eq!(bond.mac.as_deref(), Some("52:54:00:aa:00:02"));
    let Kind::Bond(options) = &bond.kind else {
        panic!("{bond:?}")
    };
    assert_eq!(
        (options.mode, options.miimon, options.lacp_fast),
        (BondMode::Lacp, Some(140), true)
    );
    let vlan = &network.interfaces[3];
    assert_eq!((vlan.mtu, vlan.ipv4.addresses.len()), (Some(1400), 1));
    assert_eq!(network.routes[0].metric, None);
    assert_eq!(network.search, ["lab.example"]);
}

#[test]
fn a_bridge_takes_the_address_of_its_port() {
    let yaml = "
interfaces:
- name: br-ex
  type: linux-bridge
  state: up
  copy-mac-from: one
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.91.0.13, prefix-length: 24}]}
  bridge:
    options: {stp: {enabled: false}}
    port: [{name: one}]
";
    let network = live_network(&host(yaml, &CARDS)).unwrap();
    let names: Vec<&str> = network.interfaces.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["one", "br-ex"]);
    let bridge = &network.interfaces[1];
    assert_eq!(bridge.mac.as_deref(), Some("52:54:00:aa:00:01"));
    assert_eq!(bridge.ipv4.addresses.len(), 1);
    let Kind::Bridge(options) = &bridge.kind else {
        panic!("{bridge:?}")
    };
    assert_eq!(
        (options.ports.as_slice(), options.stp),
        (["one".to_owned()].as_slice(), false)
    );
}

#[test]
fn a_card_may_be_named_by_its_address_in_the_document_and_documents_may_be_json() {
    let json = r#"{"interfaces":[{"name":"nic","type":"ethernet","identifier":"mac-address",
        "mac-address":"52:54:00:AA:00:09","ipv4":{"enabled":true,"dhcp":true},"ipv6":{"enabled":true,"autoconf":true,"dhcp":true}}]}"#;
    let network = live_network(&host(json, &CARDS[..1])).unwrap();
    assert_eq!(network.cards[1].mac, "52:54:00:aa:00:09");
    let card = &network.interfaces[0];
    assert_eq!(
        (card.mac.as_deref(), card.ipv4.dhcp, card.ipv6.autoconf),
        (None, true, true)
    );
}

#[test]
fn a_card_that_the_document_names_by_its_address_has_the_name_that_it_has_there() {
    let yaml = "interfaces: [{name: uplink, type: ethernet, identifier: mac-address, mac-address: '52:54:00:AA:00:01'}]";
    let network = live_network(&host(yaml, &CARDS)).unwrap();
    assert_eq!(network.cards[0].name, "uplink");
    assert_eq!(
        (network.cards.len(), network.interfaces[0].name.as_str()),
        (2, "uplink")
    );
}

#[test]
fn what_would_change_the_network_and_is_not_applied_is_refused_by_name() {
    let one = |rest: &str| format!("interfaces: [{{name: one, type: ethernet, {rest}}}]");
    refused(&one("ethtool: {feature: {rx-gro: true}}"), "ethtool");
    refused(&one("ethernet: {sr-iov: {total-vfs: 2}}"), "ethernet");
    refused(
        &one("ipv4: {enabled: true, dhcp: true, auto-gateway: false}"),
        "auto-gateway",
    );
    refused(
        &one("ipv4: {enabled: true, address: [{ip: 10.0.0.1, prefix-length: 33}]}"),
        "33",
    );
    refused(
        &one("ipv4: {enabled: true, address: [{ip: 'fd00::1', prefix-length: 64}]}"),
        "family",
    );
    refused("interfaces: [{name: ib, type: infiniband}]", "infiniband");
    refused("interfaces: [{name: br-ex, type: ovs-bridge}]", "ovs-bridge");
    refused(
        "interfaces: []\nroute-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 100}]}",
        "route-rules",
    );
    refused(
        "interfaces: [{name: one, type: ethernet}]\nroutes: {config: [{destination: 0.0.0.0/0, next-hop-interface: one, table-id: 100}]}",
        "main one",
    );
    refused(
        "interfaces: [{name: one, type: ethernet}]\nroutes: {config: [{destination: 0.0.0.0/0, next-hop-interface: two}]}",
        "two is not among",
    );
    refused(
        "interfaces: [{name: bond0, type: bond, link-aggregation: {mode: 802.3ad, port: [one], options: {arp_interval: 5}}}]",
        "arp_interval",
    );
    refused(
        "interfaces: [{name: bond0, type: bond, link-aggregation: {mode: fastest, port: [one]}}]",
        "fastest",
    );
    refused(
        "interfaces: [{name: a-name-of-16-char, type: vlan, vlan: {base-iface: one, id: 5}}]",
        "15 bytes",
    );
    refused(
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: one, id: 4095}}]",
        "4095",
    );
    refused(
        "interfaces: [{name: v, type: vlan, vlan: {base-iface: v, id: 5}}]",
        "made of itself",
    );
    refused(
        "interfaces: [{name: a, type: linux-bridge, bridge: {port: [{name: one}]}}, {name: b, type: linux-bridge, bridge: {port: [{name: one}]}}]",
        "a port twice",
    );
    refused("dns-resolver: {config: {server: ['fe80::1%one']}}", "fe80::1%one");
}

#[test]
fn what_changes_nothing_is_taken_whatever_its_name() {
    let plain = "interfaces: [{name: one, type: ethernet, ipv4: {enabled: true, dhcp: true}}]";
    let plain = live_network(&host(plain, &CARDS)).unwrap();
    let one = |members: &str| {
        format!("interfaces: [{{name: one, type: ethernet, {members}, ipv4: {{enabled: true, dhcp: true}}}}]")
    };
    let ipv4 = |members: &str| {
        format!("interfaces: [{{name: one, type: ethernet, ipv4: {{enabled: true, dhcp: true, {members}}}}}]")
    };
    for yaml in [
        one("description: uplink, lldp: {enabled: true}, wait-ip: any, profile-name: a, driver: ice"),
        one("ethernet: {auto-negotiation: true, duplex: full, speed: 10000}"),
        one("ethernet: {sr-iov: {total-vfs: 0}}"),
        one("accept-all-mac-addresses: false, mac-address: '52:54:00:aa:00:01'"),
        one("permanent-mac-address: '52:54:00:aa:00:01', min-mtu: 68, max-mtu: 9000, ethtool: {}, controller: ''"),
        ipv4("auto-route-table-id: 0, dhcp-client-id: mac, auto-route-metric: -1"),
        ipv4("auto-dns: true, auto-routes: true, dhcp-send-hostname: true, forwarding: false"),
        format!("{}\nroute-rules: {{config: []}}\novs-db: {{}}\nhostname: {{running: a}}", one("mtu: null")),
        "interfaces: [{name: one, type: ethernet, ipv4: {enabled: true, dhcp: true}}, {name: d, type: dummy, state: down}, \
         {name: old, type: ovs-bridge, state: absent}, {name: v, type: vxlan, state: ignore}]"
            .to_owned(),
    ] {
        let read = live_network(&host(&yaml, &CARDS));
        assert_eq!(read.as_ref(), Ok(&plain), "{yaml}");
    }
    let one = |members: &str| format!("interfaces: [{{name: one, type: ethernet, {members}}}]");
    refused(
        &one("ethernet: {auto-negotiation: false, speed: 1000}"),
        "ethernet",
    );
    refused(&one("accept-all-mac-addresses: true"), "accept-all");
    refused(
        &one("ipv6: {enabled: true, dhcp: true, autoconf: true, addr-gen-mode: stable-privacy}"),
        "addr-gen-mode",
    );
}

#[test]
fn numbers_and_truth_values_may_be_in_quotes() {
    let with = |quote: &str| {
        let q = |value: &str| format!("{quote}{value}{quote}");
        let yaml = format!(
            "interfaces: [{{name: one, type: ethernet, mtu: {}, ipv4: {{enabled: {}, dhcp: {}, address: [{{ip: 192.0.2.10, prefix-length: {}}}]}}}}, \
             {{name: one.100, type: vlan, vlan: {{base-iface: one, id: {}}}}}]\n\
             routes: {{config: [{{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: one, metric: {}, table-id: {}}}]}}",
            q("1500"),
            q("true"),
            q("false"),
            q("24"),
            q("100"),
            q("200"),
            q("254")
        );
        live_network(&host(&yaml, &CARDS))
    };
    assert_eq!(with("\""), with(""));
    assert_eq!(with("\"").unwrap().interfaces[0].mtu, Some(1500));
    refused(
        "interfaces: [{name: one, type: ethernet, mtu: large}]",
        "interfaces[0].mtu: \"large\" is not a number",
    );
}

#[test]
fn addresses_without_enabled_are_refused_with_the_way_out() {
    for addressing in ["dhcp: true", "address: [{ip: 192.0.2.10, prefix-length: 24}]"] {
        let yaml = format!("interfaces: [{{name: one, type: ethernet, ipv4: {{{addressing}}}}}]");
        refused(&yaml, "interface one: ipv4: enabled: true is missing");
    }
}

#[test]
fn metrics_and_name_servers_of_leases_are_as_they_are_said() {
    let yaml = "interfaces: [{name: one, type: ethernet, ipv4: {enabled: true, dhcp: true, auto-route-metric: 700, auto-dns: false}}]";
    let network = live_network(&host(yaml, &CARDS)).unwrap();
    let ipv4 = &network.interfaces[0].ipv4;
    assert_eq!((ipv4.metric, ipv4.own_name_servers_alone), (Some(700), true));
}

#[test]
fn a_card_takes_another_mac_address_and_not_its_own() {
    let mac = |mac: &str| {
        let yaml = format!("interfaces: [{{name: one, type: ethernet, mac-address: '{mac}'}}]");
        live_network(&host(&yaml, &CARDS)).unwrap().interfaces[0]
            .mac
            .clone()
    };
    assert_eq!(mac("52:54:00:AA:00:01"), None);
    assert_eq!(mac("02:00:00:AA:3C:4D").as_deref(), Some("02:00:00:aa:3c:4d"));
    refused(
        "interfaces: [{name: one, type: ethernet, mac-address: none}]",
        "mac-address",
    );
}

#[test]
fn every_name_of_a_document_is_there_or_is_named() {
    let bond = "{name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [one, ens7]}}";
    let good = format!(
        "interfaces: [{bond}, {{name: v, type: vlan, vlan: {{base-iface: bond0, id: 5}}}}, \
         {{name: w, type: vlan, vlan: {{base-iface: two, id: 6}}}}, {{name: x, type: vlan, vlan: {{base-iface: enp1s0, id: 7}}}}]"
    );
    assert!(live_network(&host(&good, &CARDS)).is_ok());
    for (interface, part) in [
        (
            "{name: bond0.250, type: vlan, vlan: {base-iface: bond7, id: 250}}",
            "interface bond0.250: vlan.base-iface names \"bond7\", which is neither among the interfaces nor in mac_interface_map",
        ),
        (
            "{name: b, type: bond, link-aggregation: {mode: active-backup, port: [one, three]}}",
            "link-aggregation.port names \"three\"",
        ),
        (
            "{name: br0, type: linux-bridge, bridge: {port: [{name: eth9}]}}",
            "bridge.port names \"eth9\"",
        ),
        (
            "{name: eth9}",
            "interface eth9: no card of mac_interface_map has this name",
        ),
        (
            "{name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [one, two], options: {primary: eth9}}}",
            "interface bond0: the bond option primary names \"eth9\", which is none of its ports",
        ),
        (
            "{name: bond0, type: bond, link-aggregation: {mode: 1, port: [one], options: {active_slave: two}}}",
            "the bond option active_slave names \"two\"",
        ),
        (
            "{name: v, type: vlan, vlan: {base-iface: old, id: 5}}, {name: old, type: bond, state: absent}",
            "vlan.base-iface names \"old\"",
        ),
        (
            "{name: br0, type: linux-bridge, copy-mac-from: eth9, bridge: {port: [{name: one}]}}",
            "copy-mac-from: eth9",
        ),
    ] {
        refused(&format!("interfaces: [{interface}]"), part);
    }
}

#[test]
fn names_by_place_are_taken_and_can_be_told() {
    let bond = "{name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [one, eno3]}}";
    let network = live_network(&host(&format!("interfaces: [{bond}, {{name: enp1s0}}]"), &CARDS));
    let network = network.unwrap();
    assert_eq!(cards_by_place(&network).collect::<Vec<_>>(), ["enp1s0", "eno3"]);
}

#[test]
fn every_next_hop_is_on_a_network_of_its_interface() {
    let routes = |ipv4: &str, ipv6: &str, routes: &str| {
        format!(
            "interfaces: [{{name: one, type: ethernet, ipv4: {{{ipv4}}}, ipv6: {{{ipv6}}}}}]\nroutes: {{config: [{routes}]}}"
        )
    };
    let to = |to: &str, by: &str| {
        let by = if by.is_empty() {
            String::new()
        } else {
            format!("next-hop-address: '{by}', ")
        };
        format!("{{destination: '{to}', {by}next-hop-interface: one}}")
    };
    let own = "enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]";
    let own6 = "enabled: true, address: [{ip: '2001:db8::10', prefix-length: 64}]";
    let dhcp = "enabled: true, dhcp: true";
    for yaml in [
        routes(own, own6, &to("0.0.0.0/0", "192.0.2.1")),
        routes(own, own6, &to("::/0", "2001:db8::1")),
        routes(own, own6, &to("::/0", "fe80::1")),
        routes(dhcp, "", &to("10.0.0.0/8", "10.9.9.1")),
        routes(
            own,
            "enabled: true, dhcp: true, autoconf: true",
            &to("::/0", "2001:db8:9::1"),
        ),
        routes(
            own,
            "",
            &format!("{}, {}", to("0.0.0.0/0", "10.9.9.1"), to("10.9.9.1/32", "")),
        ),
        routes(
            "enabled: true, address: [{ip: 192.0.2.10, prefix-length: 31}]",
            "enabled: true",
            &format!("{}, {}", to("0.0.0.0/0", "192.0.2.11"), to("::/0", "fe80::1")),
        ),
    ] {
        assert_eq!(live_network(&host(&yaml, &CARDS)).err(), None, "{yaml}");
    }
    refused(
        &routes(own, "", &to("0.0.0.0/0", "10.9.9.1")),
        "route to 0.0.0.0/0: the next hop 10.9.9.1 is on no network of one (192.0.2.10/24); correct it or the prefix-length, \
         or add a route to 10.9.9.1/32 over one without next-hop-address",
    );
    refused(
        &routes(own, "", &to("::/0", "2001:db8::1")),
        "on no network of one (none of this family)",
    );
    refused(
        &routes("enabled: false", "", &to("0.0.0.0/0", "192.0.2.1")),
        "on no network of one",
    );
    for (route, part) in [
        (
            to("0.0.0.0/0", "192.0.2.10"),
            "the next hop 192.0.2.10 is an address of one itself",
        ),
        (
            to("0.0.0.0/0", "192.0.2.255"),
            "192.0.2.255 is no address of a router: it is an end of 192.0.2.0/24",
        ),
        (
            to("0.0.0.0/0", "192.0.2.0"),
            "192.0.2.0 is no address of a router",
        ),
        (
            to("0.0.0.0/0", "127.0.0.1"),
            "127.0.0.1 is no address of a router",
        ),
        (
            to("::/0", "fe80::1"),
            "the next hop fe80::1 needs IPv6, which is off on one",
        ),
    ] {
        refused(&routes(own, "", &route), part);
    }
}
