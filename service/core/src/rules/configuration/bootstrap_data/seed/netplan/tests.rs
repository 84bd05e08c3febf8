use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
use serde_json::{Value, json};

use super::*;
use crate::rules::live_network::live_network;

fn network(yaml: &str) -> StaticNetwork {
    let card = |(mac, name): (&str, &str)| MacInterface {
        mac_address: Some(mac.to_owned()),
        logical_nic_name: Some(name.to_owned()),
    };
    let host = HostStaticNetworkConfig {
        network_yaml: Some(yaml.to_owned()),
        mac_interface_map: [("52:54:00:12:34:56", "one"), ("52:54:00:AA:00:02", "two")]
            .map(card)
            .into(),
    };
    live_network(&host).unwrap()
}

fn read(yaml: &str) -> Value {
    let text = network_config(&network(yaml)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

#[test]
fn a_vlan_on_a_bond_is_written_whole() {
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
  link-aggregation:
    mode: 802.3ad
    options: {miimon: '140', lacp_rate: fast, xmit_hash_policy: layer3+4, min_links: '1', use_carrier: true}
    port: [one, two]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.93.0.1, next-hop-interface: bond0.100}
dns-resolver:
  config: {server: [10.93.0.1], search: [lab.example]}
";
    let expected = r#"{
  "version": 2,
  "ethernets": {
    "one": {
      "match": {
        "macaddress": "52:54:00:12:34:56"
      },
      "set-name": "one",
      "dhcp4": false,
      "dhcp6": false
    },
    "two": {
      "match": {
        "macaddress": "52:54:00:aa:00:02"
      },
      "set-name": "two",
      "dhcp4": false,
      "dhcp6": false
    }
  },
  "bonds": {
    "bond0": {
      "interfaces": [
        "one",
        "two"
      ],
      "parameters": {
        "lacp-rate": "fast",
        "mii-monitor-interval": 140,
        "min-links": 1,
        "mode": "802.3ad",
        "transmit-hash-policy": "layer3+4"
      },
      "dhcp4": false,
      "dhcp6": false,
      "accept-ra": false,
      "link-local": []
    }
  },
  "vlans": {
    "bond0.100": {
      "id": 100,
      "link": "bond0",
      "mtu": 1400,
      "dhcp4": false,
      "dhcp6": false,
      "accept-ra": false,
      "link-local": [],
      "addresses": [
        "10.93.0.5/24"
      ],
      "nameservers": {
        "addresses": [
          "10.93.0.1"
        ],
        "search": [
          "lab.example"
        ]
      },
      "routes": [
        {
          "to": "0.0.0.0/0",
          "via": "10.93.0.1"
        }
      ]
    }
  }
}
"#;
    assert_eq!(network_config(&network(yaml)).unwrap(), expected);
}

#[test]
fn a_bridge_has_its_address_and_no_spanning_tree_unless_it_is_named() {
    let made = read(
        "
interfaces:
- name: br0
  type: linux-bridge
  state: up
  copy-mac-from: one
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.91.0.13, prefix-length: 24}]}
  ipv6: {enabled: true, autoconf: true, dhcp: true}
  bridge: {port: [{name: one}]}
",
    );
    let bridge = &made["bridges"]["br0"];
    assert_eq!(bridge["parameters"], json!({"stp": false}));
    assert_eq!(bridge["macaddress"], "52:54:00:12:34:56");
    assert_eq!(
        (&bridge["dhcp6"], &bridge["accept-ra"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(bridge.get("link-local"), None);
    assert_eq!(
        made["ethernets"]["one"],
        json!({"match": {"macaddress": "52:54:00:12:34:56"}, "set-name": "one", "dhcp4": false, "dhcp6": false})
    );
    assert_eq!(made.get("bonds"), None);
}

#[test]
fn routes_show_how_their_next_hop_is_reached_and_name_servers_go_with_the_default_route() {
    let made = read(
        "
interfaces:
- name: one
  type: ethernet
  state: up
  ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 32}]}
  ipv6: {enabled: false}
- name: two
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-route-metric: 300}
  ipv6: {enabled: true}
routes:
  config:
  - {destination: 198.51.100.1/32, next-hop-interface: one}
  - {destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: one, metric: 50}
dns-resolver:
  config: {server: [192.0.2.53]}
",
    );
    let one = &made["ethernets"]["one"];
    assert_eq!(
        one["routes"],
        json!([
            {"to": "198.51.100.1/32", "scope": "link"},
            {"to": "0.0.0.0/0", "via": "198.51.100.1", "on-link": true, "metric": 50},
        ])
    );
    assert_eq!(one["nameservers"], json!({"addresses": ["192.0.2.53"]}));
    let two = &made["ethernets"]["two"];
    assert_eq!(two.get("nameservers"), None);
    assert_eq!(
        two["dhcp4-overrides"],
        json!({"route-metric": 300, "use-dns": false, "use-domains": false})
    );
    // IPv6 without addresses: the link-local one, and nothing of routers.
    assert_eq!((two.get("link-local"), &two["accept-ra"]), (None, &json!(false)));
}

#[test]
fn a_card_that_is_named_by_its_place_is_found_by_that_name() {
    let made =
        read("interfaces: [{name: enp1s0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]");
    let card = &made["ethernets"]["enp1s0"];
    assert_eq!((card.get("match"), card.get("set-name")), (None, None));
    assert_eq!(card["dhcp4"], true);
}

#[test]
fn what_netplan_has_no_word_for_is_refused_by_its_name() {
    let bond = |mode: &str, options: &str| {
        format!(
            "interfaces: [{{name: bond0, type: bond, state: up, link-aggregation: {{mode: {mode}, options: {{{options}}}, port: [one]}}}}]"
        )
    };
    let card = |rest: &str| format!("interfaces: [{{name: one, type: ethernet, state: up, {rest}}}]");
    for (yaml, part) in [
        (
            bond("802.3ad", "ad_user_port_key: 7"),
            "bond option ad_user_port_key",
        ),
        (
            bond("802.3ad", "xmit_hash_policy: vlan+srcmac"),
            "xmit_hash_policy=vlan+srcmac",
        ),
        (
            bond(
                "active-backup",
                "arp_interval: 100, arp_ip_target: 10.0.0.1, arp_validate: filter",
            ),
            "arp_validate=filter",
        ),
        (bond("active-backup", "active_slave: one"), "active_slave"),
        (
            card("ipv6: {enabled: true, autoconf: true, auto-dns: false}"),
            "ipv6.auto-dns: false",
        ),
        (
            card("ipv6: {enabled: true, dhcp: true, auto-route-metric: 9}"),
            "ipv6.auto-route-metric",
        ),
    ] {
        let why = network_config(&network(&yaml)).unwrap_err().to_string();
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn a_name_that_no_card_can_have_is_refused() {
    let mut long = network("interfaces: [{name: one, type: ethernet, state: up}]");
    for name in ["a-name-of-sixteen", "a b", "a/b"] {
        long.cards[0].name = name.to_owned();
        long.interfaces[0].name = name.to_owned();
        let why = network_config(&long).unwrap_err();
        assert_eq!(why.interface, name);
        assert!(why.part.contains("at most 15 bytes"), "{why}");
    }
}

#[test]
fn values_that_the_kernel_has_anyway_and_announcements_are_taken() {
    let made = read(
        "interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [one, two], options: \
         {primary: two, num_grat_arp: 3, arp_interval: 100, arp_ip_target: '10.0.0.1,10.0.0.2', all_slaves_active: 1, \
         peer_notif_delay: 0, fail_over_mac: active}}}]",
    );
    assert_eq!(
        made["bonds"]["bond0"]["parameters"],
        json!({
            "mode": "active-backup", "primary": "two", "gratuitous-arp": 3, "arp-interval": 100,
            "arp-ip-targets": ["10.0.0.1", "10.0.0.2"], "all-slaves-active": true, "fail-over-mac-policy": "active",
        })
    );
}
