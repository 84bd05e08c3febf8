//! Paths that carry less than the card.

use serde_json::json;

use super::connectivity::{B, check, remote};
use super::lab::{Cable, Host, Switch, connect};

fn plugged(switch: &mut Switch, number: u8, mtu: u32, port_mtu: u32) -> Host {
    let host = Host::start();
    let v4 = format!("10.77.0.{number}/24");
    let v6 = format!("fd77::{number}/64");
    let cable = Cable {
        mac: number,
        addresses: &[&v4, &v6],
        mtu,
        port_mtu,
        ..Cable::default()
    };
    switch.plug(&host, cable);
    host
}

#[test]
fn a_port_that_swallows_full_packets_is_found_on_cards_with_mtu_1500() {
    let mut switch = Switch::new();
    let a = plugged(&mut switch, 1, 1500, 9500);
    let _b = plugged(&mut switch, 2, 1500, 1400);
    let _c = plugged(&mut switch, 3, 1500, 9500);
    let hosts = json!([
        remote(B, 2, &["10.77.0.2", "fd77::2"]),
        remote(
            "cccccccc-0000-4000-8000-000000000003",
            3,
            &["10.77.0.3", "fd77::3"]
        ),
    ]);
    let report = check(&a, hosts);
    let fails = |ip: &str| json!({"outgoing_nic": "nic0", "remote_ip_address": ip});
    assert_eq!(
        report["remote_hosts"][0]["mtu_report"],
        json!([fails("10.77.0.2"), fails("fd77::2")]),
        "{report:#}"
    );
    assert_eq!(report["remote_hosts"][1]["mtu_report"], json!(null), "{report:#}");
    assert_eq!(
        report["remote_hosts"][0]["l3_connectivity"][0]["successful"], true,
        "small packets pass"
    );
}

#[test]
fn a_router_on_the_way_with_mtu_1400_is_found() {
    let mut switch = Switch::new();
    let a = plugged(&mut switch, 1, 1500, 9500);
    let router = plugged(&mut switch, 254, 1500, 9500);
    let far = Host::start();
    connect(&router, "far0", &far, "nic0", 1400);
    router.ip("address add 10.78.0.254/24 dev far0");
    router.set("ipv4/ip_forward", "1");
    far.ip("address add 10.78.0.5/24 dev nic0");
    far.ip("route add default via 10.78.0.254");
    a.ip("route add 10.78.0.0/24 via 10.77.0.254");
    let report = check(&a, json!([remote(B, 5, &["10.78.0.5"])]));
    let expected = json!([{
        "host_id": B,
        "l2_connectivity": null,
        "l3_connectivity": [{"remote_ip_address": "10.78.0.5", "successful": true}],
        "mtu_report": [{"outgoing_nic": "nic0", "remote_ip_address": "10.78.0.5"}],
    }]);
    assert_eq!(report["remote_hosts"], expected);
}

#[test]
fn cards_with_another_mtu_report_success_failure_and_nothing_of_the_unreachable() {
    let mut switch = Switch::new();
    let a = plugged(&mut switch, 1, 9000, 9500);
    let _jumbo = plugged(&mut switch, 2, 9000, 9500);
    let _usual = plugged(&mut switch, 3, 1500, 9500);
    let targets = ["10.77.0.2", "10.77.0.3", "10.77.0.99", "fd77::2", "fd77::3"];
    let report = check(&a, json!([remote(B, 2, &targets)]));
    let entry = |ip: &str, successful: bool| {
        let mut entry = json!({"outgoing_nic": "nic0", "remote_ip_address": ip});
        if successful {
            entry["mtu_successful"] = true.into();
        }
        entry
    };
    let expected = json!([
        entry("10.77.0.2", true),
        entry("10.77.0.3", false),
        entry("fd77::2", true),
        entry("fd77::3", false),
    ]);
    assert_eq!(report["remote_hosts"][0]["mtu_report"], expected, "{report:#}");
}

#[test]
fn a_card_with_another_mtu_and_without_the_family_is_content() {
    let mut switch = Switch::new();
    let a = Host::start();
    let cable = Cable {
        mac: 1,
        addresses: &["10.77.0.1/24"],
        mtu: 9000,
        ..Cable::default()
    };
    switch.plug(&a, cable);
    let report = check(&a, json!([remote(B, 2, &["fd77::2"])]));
    assert_eq!(
        report["remote_hosts"][0]["mtu_report"],
        json!([{"outgoing_nic": "nic0", "remote_ip_address": "fd77::2", "mtu_successful": true}])
    );
}
