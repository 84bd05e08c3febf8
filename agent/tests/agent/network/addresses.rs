use std::time::Instant;

use muster_agent::foreign::steps::free_addresses::FreeNetworkAddresses;
use serde_json::{Value, json};

use super::lab::{Cable, Host, Switch};

fn free(found: &Value, place: usize) -> Vec<String> {
    let list = found[place]["free_addresses"].as_array().unwrap();
    list.iter()
        .map(|address| address.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_unused_address_is_free_and_our_own_is_not() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    let _b = switch.host(2);
    let c = switch.host(3);
    c.ip("address add 10.77.0.9/24 dev nic0");
    let found = a.good_step(FreeNetworkAddresses, &json!(["10.77.0.0/28"]));
    let taken = [1, 2, 3, 9];
    let expected: Vec<String> = (0..16)
        .filter(|last| !taken.contains(last))
        .map(|last| format!("10.77.0.{last}"))
        .collect();
    assert_eq!(
        found,
        json!([{"network": "10.77.0.0/28", "free_addresses": expected}])
    );
}

#[test]
fn a_network_of_1024_is_looked_at_and_one_that_is_gone_is_left_out() {
    let mut switch = Switch::new();
    let a = Host::start();
    let b = Host::start();
    for (host, number, address) in [(&a, 1, "10.80.0.1/22"), (&b, 2, "10.80.3.254/22")] {
        let cable = Cable {
            mac: number,
            addresses: &[address],
            ..Cable::default()
        };
        switch.plug(host, cable);
    }
    let began = Instant::now();
    let found = a.good_step(FreeNetworkAddresses, &json!(["10.99.0.0/24", "10.80.0.0/22"]));
    println!("a /22 took {:?}", began.elapsed());
    assert_eq!(found.as_array().unwrap().len(), 1);
    let free = free(&found, 0);
    assert_eq!(free.len(), 1022);
    assert!(!free.contains(&"10.80.3.254".to_owned()));
}

#[test]
fn networks_that_are_none_fail_the_step_with_the_reason() {
    let mut switch = Switch::new();
    let a = switch.host(1);
    for (arg, why) in [
        (json!(["10.77.0.1/24"]), "10.77.0.0/24 is the network"),
        (json!(["fd77::/64"]), "no IPv4 network"),
        (
            json!(["10.99.0.0/24"]),
            "no network card of this host is in 10.99.0.0/24",
        ),
        (json!("10.77.0.0/24"), "invalid type"),
    ] {
        let output = a.step(FreeNetworkAddresses, &[arg.to_string()]);
        assert_eq!(output.exit_code, -1);
        assert!(output.error.contains(why), "{}", output.error);
    }
}
