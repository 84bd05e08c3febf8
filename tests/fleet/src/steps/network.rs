//! Handles connectivity steps: the machine reaches everything in 10.0.0.0/8, the fleet's own network, and nothing else.

use std::net::{IpAddr, Ipv4Addr};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_api::inventory::Interface;
use rand::RngExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::outcome::{Outcome, argument, parse, settle};
use crate::machine::Machine;

/// Most addresses that one scan reports.
const MOST_FREE_ADDRESSES: usize = 8000;

#[derive(Deserialize)]
struct RemoteHost {
    host_id: String,
    #[serde(default)]
    nics: Vec<RemoteNic>,
}

#[derive(Deserialize)]
struct RemoteNic {
    #[serde(default)]
    mac: String,
    #[serde(default)]
    ip_addresses: Vec<String>,
}

/// `connectivity-check`, sorted by host and address. Empty lists are `null`.
pub fn connectivity(machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<Vec<RemoteHost>>(args).map(|mut hosts| {
        hosts.sort_by(|a, b| a.host_id.cmp(&b.host_id));
        let interfaces = machine.inventory().interfaces;
        let hosts: Vec<Value> = hosts
            .iter()
            .map(|host| remote(machine, &interfaces, host))
            .collect();
        Outcome::good(&json!({"remote_hosts": null_if_empty(hosts)}))
    }))
}

fn remote(machine: Machine, interfaces: &[Interface], host: &RemoteHost) -> Value {
    let mut targets: Vec<(&str, &str)> = host
        .nics
        .iter()
        .flat_map(|nic| {
            nic.ip_addresses
                .iter()
                .map(|address| (address.as_str(), nic.mac.as_str()))
        })
        .collect();
    targets.sort_unstable();
    let (mut l2, mut l3, mut mtu) = (Vec::new(), Vec::new(), Vec::new());
    for (address, mac) in targets {
        if !is_ours(address) {
            l3.push(json!({"remote_ip_address": address}));
            continue;
        }
        let seed = address
            .bytes()
            .fold(6, |sum, byte| sum * 31 % 65_521 + u64::from(byte));
        let rtt: f64 = f64::from(machine.random(seed).random_range(80..900_u32)) / 1000.0;
        l3.push(json!({"remote_ip_address": address, "successful": true, "average_rtt_ms": rtt}));
        for (nic, own) in neighbours(interfaces, address) {
            l2.push(
                json!({"outgoing_ip_address": own, "outgoing_nic": nic.name, "remote_ip_address": address,
                           "remote_mac": mac, "successful": true}),
            );
            if nic.mtu != 1500 {
                mtu.push(
                    json!({"outgoing_nic": nic.name, "remote_ip_address": address, "mtu_successful": true}),
                );
            }
        }
    }
    json!({"host_id": host.host_id, "l2_connectivity": null_if_empty(l2), "l3_connectivity": null_if_empty(l3),
           "mtu_report": null_if_empty(mtu)})
}

/// The interfaces that share a network with `address`, and their addresses there.
fn neighbours<'a>(interfaces: &'a [Interface], address: &str) -> Vec<(&'a Interface, &'a str)> {
    let Some(wanted) = segment(address) else {
        return Vec::new();
    };
    let of = |interface: &'a Interface| {
        let all = interface.ipv4_addresses.iter().chain(&interface.ipv6_addresses);
        all.filter_map(|own| own.split('/').next())
            .filter(|own| segment(own) == Some(wanted))
            .map(|own| (interface, own))
            .collect::<Vec<_>>()
    };
    interfaces
        .iter()
        .filter(|interface| interface.name != "lo")
        .flat_map(of)
        .collect()
}

/// The network of one of the fleet's addresses, which have prefixes of 24 and 64 bits.
fn segment(address: &str) -> Option<&str> {
    let split = address.rsplit_once("::").or_else(|| address.rsplit_once('.'));
    split.map(|(network, _)| network)
}

fn is_ours(address: &str) -> bool {
    match address.parse() {
        Ok(IpAddr::V4(address)) => address.octets()[0] == 10,
        Ok(IpAddr::V6(address)) => address.segments()[..2] == [0x2001, 0xdb8],
        Err(_) => false,
    }
}

fn null_if_empty(list: Vec<Value>) -> Value {
    if list.is_empty() {
        Value::Null
    } else {
        Value::Array(list)
    }
}

/// `free-network-addresses`: of each network, all addresses except those of the gateway and the machines.
pub fn free_addresses(machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<Vec<String>>(args).and_then(|networks| {
        let scanned = networks.iter().map(|network| {
            let (first, count) = canonical(network)?;
            let used = machine.random(7).random_range(20..60);
            let free: Vec<String> = (0..count)
                .filter(|n| *n == 0 || *n > used)
                .take(MOST_FREE_ADDRESSES)
                .map(|n| Ipv4Addr::from(first + n).to_string())
                .collect();
            Ok(json!({"network": network, "free_addresses": free}))
        });
        let scanned: Vec<Value> = scanned.collect::<Result<_, Outcome>>()?;
        Ok(Outcome::good(&Value::Array(scanned)))
    }))
}

/// The first address of `a.b.c.d/n` and how many there are.
fn canonical(network: &str) -> Result<(u32, u32), Outcome> {
    let bad = || Outcome::failed(-1, format!("{network} is no canonical IPv4 network"));
    let (address, length) = network.split_once('/').ok_or_else(bad)?;
    let address: Ipv4Addr = address.parse().map_err(|_| bad())?;
    let length: u32 = length
        .parse()
        .ok()
        .filter(|length| (8..=32).contains(length))
        .ok_or_else(bad)?;
    let count = 1_u32 << (32 - length);
    let first = u32::from(address);
    if first % count == 0 {
        Ok((first, count))
    } else {
        Err(bad())
    }
}

#[derive(Deserialize)]
struct LeaseRequest {
    interface: String,
    api_vip_mac: String,
    ingress_vip_mac: String,
    api_vip_lease: Option<String>,
    ingress_vip_lease: Option<String>,
}

/// `dhcp-lease-allocate`: the addresses 2 and 3 of the interface's network.
pub fn dhcp_lease(machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<LeaseRequest>(args).and_then(|request| {
        let interfaces = machine.inventory().interfaces;
        let own = interfaces
            .iter()
            .find(|interface| interface.name == request.interface)
            .and_then(|interface| interface.ipv4_addresses.first())
            .or_else(|| interfaces.iter().filter(|nic| nic.name != "lo").find_map(|nic| nic.ipv4_addresses.first()))
            .ok_or_else(|| Outcome::failed(-1, format!("{} has no address", request.interface)))?;
        let prefix = own.rsplit_once('.').map_or("10.0.0", |(prefix, _)| prefix);
        let lease = |mac: &str, name: &str, address: &str, before: Option<String>| {
            before.unwrap_or_else(|| {
                format!(
                    "lease {{\n  interface \"{name}\";\n  fixed-address {address};\n  option host-name \"{}-{name}\";\n  \
                     renew 6 2030/01/05 10:00:00;\n  rebind 6 2030/01/05 11:00:00;\n  expire 6 2030/01/05 12:00:00;\n}}\n",
                    mac.replace(':', "-")
                )
            })
        };
        let (api, ingress) = (format!("{prefix}.2"), format!("{prefix}.3"));
        Ok(Outcome::good(&json!({
            "api_vip_lease": lease(&request.api_vip_mac, "api", &api, request.api_vip_lease),
            "ingress_vip_lease": lease(&request.ingress_vip_mac, "ingress", &ingress, request.ingress_vip_lease),
            "api_vip_address": api,
            "ingress_vip_address": ingress,
        })))
    }))
}

#[derive(Deserialize)]
struct Domains {
    domains: Vec<Domain>,
}

#[derive(Deserialize)]
struct Domain {
    domain_name: String,
}

/// `domain-resolution`: every name has an address, except those that test for a wildcard.
pub fn domain_resolution(_machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<Domains>(args).map(|asked| {
        let resolution = |name: &str| {
            let sum = name
                .bytes()
                .fold(7_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
            let addresses = if name.to_lowercase().starts_with("validatenowildcarddns.") {
                Vec::new()
            } else {
                vec![format!("10.255.0.{sum}")]
            };
            json!({"domain_name": name, "ipv4_addresses": addresses, "ipv6_addresses": [], "cnames": null})
        };
        let resolutions: Vec<Value> = asked
            .domains
            .iter()
            .map(|domain| resolution(&domain.domain_name))
            .collect();
        Outcome::good(&json!({"resolutions": resolutions}))
    }))
}

#[derive(Deserialize)]
struct ApiVip {
    url: String,
}

/// `api-vip-connectivity-check`: a worker's configuration is available.
pub fn api_vip(_machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<ApiVip>(args).map(|asked| {
        let ignition = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": []}});
        Outcome::good(&json!({"is_success": true, "url": asked.url, "ignition": ignition.to_string()}))
    }))
}

/// `verify-vips`: free, as they should be before an installation.
pub fn verify_vips(_machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<Vec<Vip>>(args).map(|vips| {
        let verified = vips
            .iter()
            .map(|vip| json!({"vip": vip.vip, "vip_type": vip.vip_type, "verification": "succeeded"}));
        Outcome::good(&null_if_empty(verified.collect()))
    }))
}

#[derive(Deserialize)]
struct Vip {
    vip: String,
    vip_type: String,
}

#[derive(Deserialize)]
struct TangServers {
    tang_servers: String,
}

#[derive(Deserialize)]
struct TangServer {
    url: String,
    #[serde(default)]
    thumbprint: String,
}

/// `tang-connectivity-check`: each server advertises its keys.
pub fn tang(_machine: Machine, args: &[String]) -> Outcome {
    settle(argument::<TangServers>(args).and_then(|asked| {
        let servers: Vec<TangServer> = parse(&asked.tang_servers)?;
        let response = servers.iter().map(|server| {
            let payload = json!({"keys": [{"alg": "ES512", "crv": "P-521", "key_ops": ["verify"], "kty": "EC",
                                           "kid": server.thumbprint}]});
            json!({"tang_url": server.url, "payload": URL_SAFE_NO_PAD.encode(payload.to_string()),
                   "signatures": [{"protected": URL_SAFE_NO_PAD.encode(r#"{"alg":"ES512","cty":"jwk-set+json"}"#),
                                   "signature": URL_SAFE_NO_PAD.encode(&server.thumbprint)}]})
        });
        let response: Vec<Value> = response.collect();
        Ok(Outcome::good(&json!({"is_success": true, "tang_server_response": response})))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_a_segment_are_neighbours_in_both_families() {
        for (one, other, is_same) in [
            ("10.3.4.5", "10.3.4.6", true),
            ("10.3.4.5", "10.3.5.5", false),
            ("2001:db8:3:4::5", "2001:db8:3:4::6", true),
            ("2001:db8:3:4::5", "2001:db8:3:5::5", false),
        ] {
            assert_eq!(segment(one) == segment(other), is_same, "{one} {other}");
        }
    }
}
