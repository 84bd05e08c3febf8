use std::net::IpAddr;
use std::time::{Duration, Instant};

use muster_agent::checks::icmp_socket::{Family, IcmpSocket};
use muster_agent::session::steps::connectivity::ConnectivityCheck;
use serde_json::{Value, json};

use super::lab::{Cable, Host, Switch, mac, runtime};

/// The service's description of another host.
pub fn remote(host_id: &str, number: u8, ips: &[&str]) -> Value {
    json!({"host_id": host_id, "nics": [{"name": "eth0", "mac": mac(number).to_uppercase(), "ip_addresses": ips}]})
}

pub const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// The report with the round trips taken out, each of which must make sense.
pub fn check(from: &Host, hosts: Value) -> Value {
    let mut report = from.good_step(ConnectivityCheck, &hosts);
    for host in report["remote_hosts"].as_array_mut().unwrap() {
        for entry in host["l3_connectivity"].as_array_mut().unwrap() {
            let entry = entry.as_object_mut().unwrap();
            let rtt = entry.remove("average_rtt_ms");
            if entry.contains_key("successful") {
                let rtt = rtt.and_then(|rtt| rtt.as_f64()).unwrap();
                assert!(rtt > 0.0 && rtt < 1000.0, "{rtt} ms");
            }
        }
    }
    report
}

fn l2(own: &str, target: &str, mac_number: u8, successful: bool) -> Value {
    let mut entry = json!({
        "outgoing_ip_address": own, "outgoing_nic": "nic0", "remote_ip_address": target, "remote_mac": mac(mac_number),
    });
    if successful {
        entry["successful"] = true.into();
    }
    entry
}

fn l3(target: &str) -> Value {
    json!({"remote_ip_address": target, "successful": true})
}

#[test]
fn three_hosts_on_a_segment_reach_each_other_by_both_families() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let _b = switch.host(2);
    let _c = switch.host(3);
    // In an order that the reply does not keep.
    let hosts = json!([
        remote(B, 3, &["fd77::3", "10.77.0.3"]),
        remote(A, 2, &["10.77.0.2", "fd77::2"])
    ]);
    let expected = json!({"remote_hosts": [
        {
            "host_id": A,
            "l2_connectivity": [l2("10.77.0.1", "10.77.0.2", 2, true), l2("fd77::1", "fd77::2", 2, true)],
            "l3_connectivity": [l3("10.77.0.2"), l3("fd77::2")],
            "mtu_report": null,
        },
        {
            "host_id": B,
            "l2_connectivity": [l2("10.77.0.1", "10.77.0.3", 3, true), l2("fd77::1", "fd77::3", 3, true)],
            "l3_connectivity": [l3("10.77.0.3"), l3("fd77::3")],
            "mtu_report": null,
        },
    ]});
    assert_eq!(check(&a, hosts), expected);
}

#[test]
fn an_address_that_two_machines_have_is_answered_for_by_both() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let _b = switch.host(2);
    let c = switch.host(3);
    c.ip("address add 10.77.0.2/24 dev nic0");
    c.ip("address add fd77::2/64 dev nic0 nodad");
    let report = check(&a, json!([remote(B, 2, &["10.77.0.2", "fd77::2"])]));
    let expected = json!([
        l2("10.77.0.1", "10.77.0.2", 2, true),
        l2("10.77.0.1", "10.77.0.2", 3, false),
        l2("fd77::1", "fd77::2", 2, true),
        l2("fd77::1", "fd77::2", 3, false),
    ]);
    assert_eq!(report["remote_hosts"][0]["l2_connectivity"], expected);
    assert_eq!(report.get("address_conflicts"), None, "ours is ours alone");
}

#[test]
fn a_machine_that_has_our_own_address_is_named() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let intruder = switch.host(7);
    intruder.ip("address add 10.77.0.1/24 dev nic0");
    let conflict = json!([{"outgoing_nic": "nic0", "ip_address": "10.77.0.1", "remote_mac": mac(7)}]);
    // Of a host that is not in the cluster.
    let report = a.good_step(ConnectivityCheck, &json!([]));
    assert_eq!(
        report,
        json!({"remote_hosts": null, "address_conflicts": conflict})
    );
    // And of one that is: it is reached at the address that is this host's, too.
    let report = check(&a, json!([remote(B, 7, &["10.77.0.1"])]));
    assert_eq!(report["address_conflicts"], conflict);
    assert_eq!(
        report["remote_hosts"][0]["l2_connectivity"],
        json!([l2("10.77.0.1", "10.77.0.1", 7, true)])
    );
}

#[test]
fn two_cards_of_one_host_in_one_segment_are_no_conflict() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    switch.plug(
        &a,
        Cable {
            nic: "nic1",
            mac: 0x11,
            addresses: &["10.77.0.101/24"],
            ..Cable::default()
        },
    );
    // A third one without an address replies for the others, too.
    switch.plug(
        &a,
        Cable {
            nic: "nic2",
            mac: 0x12,
            ..Cable::default()
        },
    );
    assert_eq!(
        a.good_step(ConnectivityCheck, &json!([])),
        json!({"remote_hosts": null})
    );
    // Another machine is found all the same.
    let intruder = switch.host(7);
    intruder.ip("address add 10.77.0.101/24 dev nic0");
    let report = a.good_step(ConnectivityCheck, &json!([]));
    let conflict =
        |nic: &str| json!({"outgoing_nic": nic, "ip_address": "10.77.0.101", "remote_mac": mac(7)});
    assert_eq!(report["address_conflicts"], json!([conflict("nic1")]));
}

#[test]
fn a_machine_with_our_settings_answers_for_an_address_on_its_own_card_alone() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let b = switch.host(2);
    b.run(muster_agent::net::arp::answer_strictly);
    switch.plug(
        &b,
        Cable {
            nic: "nic1",
            mac: 0x22,
            addresses: &["10.77.0.102/24"],
            ..Cable::default()
        },
    );
    let report = check(&a, json!([remote(B, 2, &["10.77.0.2", "10.77.0.102"])]));
    let answered: Vec<&Value> = report["remote_hosts"][0]["l2_connectivity"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| &link["remote_mac"])
        .collect();
    assert_eq!(answered, [&mac(0x22), &mac(2)]);
}

#[test]
fn silent_and_malformed_addresses_are_reported_without_results() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let targets = ["10.77.0.99", "192.0.2.1", "fd77::99", "not an address"];
    let expected = json!({"remote_hosts": [{
        "host_id": B,
        "l2_connectivity": null,
        "l3_connectivity": targets.map(|target| json!({"remote_ip_address": target})),
        "mtu_report": null,
    }]});
    assert_eq!(check(&a, json!([remote(B, 9, &targets)])), expected);
}

#[test]
fn a_card_asks_only_for_addresses_of_its_own_networks() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let _b = switch.host(2);
    // A second card on the same wire, in another network.
    switch.plug(
        &a,
        Cable {
            nic: "nic1",
            mac: 0x11,
            addresses: &["10.88.0.1/24"],
            ..Cable::default()
        },
    );
    let report = check(&a, json!([remote(B, 2, &["10.77.0.2"])]));
    assert_eq!(
        report["remote_hosts"][0]["l2_connectivity"],
        json!([l2("10.77.0.1", "10.77.0.2", 2, true)])
    );
}

/// Replies to four of five echo requests, each after 20 ms, instead of the kernel. Does so for ten requests.
fn answer_badly() {
    runtime().block_on(async {
        let socket = std::rc::Rc::new(IcmpSocket::open(Family::V4, None).unwrap());
        let mut buffer = [0; 2048];
        let mut requests = 0;
        let mut answers = Vec::new();
        while requests < 10 {
            let (from, place) = socket.receive(&mut buffer).await.unwrap();
            let message = &buffer[place];
            if message[0] != 8 || message.len() > 100 {
                continue;
            }
            requests += 1;
            if requests % 5 != 0 {
                answers.push((from, message.to_vec(), tokio::time::Instant::now()));
            }
            while let Some((to, request, at)) = answers.pop() {
                tokio::time::sleep_until(at + Duration::from_millis(20)).await;
                reply(&socket, to, request).await;
            }
        }
    });
}

/// A reply is the request with type 0; the checksum grows by what the type lost.
async fn reply(socket: &IcmpSocket, to: IpAddr, mut message: Vec<u8>) {
    message[0] = 0;
    let sum = u32::from(u16::from_be_bytes([message[2], message[3]])) + 0x0800;
    let sum = ((sum & 0xffff) + (sum >> 16)) as u16;
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    socket.send(to, &message).await.unwrap();
}

#[test]
fn loss_and_latency_are_measured() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let b = switch.host(2);
    b.set("ipv4/icmp_echo_ignore_all", "1");
    let report = std::thread::scope(|scope| {
        scope.spawn(|| b.run(answer_badly));
        a.good_step(ConnectivityCheck, &json!([remote(B, 2, &["10.77.0.2"])]))
    });
    let entry = &report["remote_hosts"][0]["l3_connectivity"][0];
    assert_eq!(entry["successful"], true, "{entry}");
    assert_eq!(entry["packet_loss_percentage"], 20.0, "{entry}");
    let rtt = entry["average_rtt_ms"].as_f64().unwrap();
    assert!((20.0..200.0).contains(&rtt), "{entry}");
}

#[test]
fn hundreds_of_dead_addresses_end_in_time() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let ips: Vec<String> = (0..250).map(|n| format!("10.77.0.{}", n + 5)).collect();
    let ips: Vec<&str> = ips.iter().map(String::as_str).collect();
    let began = Instant::now();
    let report = check(&a, json!([remote(B, 9, &ips)]));
    let entries = report["remote_hosts"][0]["l3_connectivity"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(entries, 250);
    println!("250 dead addresses took {:?}", began.elapsed());
}

#[test]
fn arguments_that_make_no_sense_fail_the_step_with_the_reason() {
    let host = Host::start();
    for (args, why) in [
        (vec![], "takes one argument"),
        (vec!["{}".to_owned()], "invalid type"),
        (vec![json!([remote("nobody", 2, &[])]).to_string()], "no host id"),
    ] {
        let output = host.step(ConnectivityCheck, &args);
        assert_eq!(output.exit_code, -1);
        assert!(output.error.contains(why), "{}", output.error);
    }
}
