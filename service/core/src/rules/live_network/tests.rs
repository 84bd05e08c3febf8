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
fn what_would_change_the_network_and_is_not_applied_is_refused_by_name() {
    let one = |rest: &str| format!("interfaces: [{{name: one, type: ethernet, {rest}}}]");
    refused(&one("ethtool: {feature: {rx-gro: true}}"), "ethtool");
    refused(&one("ethernet: {sr-iov: {total-vfs: 2}}"), "ethernet");
    refused(
        &one("ipv4: {enabled: true, dhcp: true, auto-dns: false}"),
        "auto-dns",
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
    refused("interfaces: []\nroute-rules: {config: []}", "route-rules");
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
fn what_only_describes_is_passed_over() {
    let yaml = "interfaces: [{name: one, type: ethernet, state: up, description: uplink, lldp: {enabled: true}, wait-ip: any}, {name: old, type: bond, state: absent}]";
    let network = live_network(&host(yaml, &CARDS)).unwrap();
    assert_eq!(network.interfaces.len(), 1);
}
