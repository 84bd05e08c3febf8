//! Builds the report in the shape and order of docs/protocol/agent-protocol.md#7.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use muster_api::steps::{
    ConnectivityCheckHost, ConnectivityRemoteHost, ConnectivityReport, L2Connectivity, L3Connectivity,
    MtuReport,
};

use super::links::Links;
use super::mtu::Fit;
use super::reach::Reached;

/// One entry a host, sorted by id; within it by address, MAC and card, all as text.
pub(super) fn report(
    hosts: &[ConnectivityCheckHost],
    mut links: Links,
    reached: &Reached,
    fits: &[Fit],
) -> ConnectivityReport {
    let mut remote_hosts: Vec<_> = hosts
        .iter()
        .map(|host| remote_host(host, &links, reached, fits))
        .collect();
    remote_hosts.sort_by(|a, b| a.host_id.cmp(&b.host_id));
    links.conflicts.sort();
    ConnectivityReport {
        remote_hosts,
        address_conflicts: links.conflicts,
    }
}

fn remote_host(
    host: &ConnectivityCheckHost,
    links: &Links,
    reached: &Reached,
    fits: &[Fit],
) -> ConnectivityRemoteHost {
    let macs: BTreeSet<String> = host.nics.iter().map(|nic| nic.mac.to_lowercase()).collect();
    // The text of the request, sorted as text; an address on two cards counts once.
    let texts: BTreeMap<&str, Option<IpAddr>> = host
        .nics
        .iter()
        .flat_map(|nic| &nic.ip_addresses)
        .map(|text| (text.as_str(), text.parse().ok()))
        .collect();
    let mut remote = ConnectivityRemoteHost {
        host_id: host.host_id.clone(),
        ..ConnectivityRemoteHost::default()
    };
    for (text, ip) in texts {
        remote.l3_connectivity.push(l3(text, ip, reached));
        let Some(ip) = ip else {
            continue;
        };
        let neighbours = links.neighbours.iter().filter(|one| one.target == ip);
        let mut l2: Vec<_> = neighbours
            .map(|one| {
                let remote_mac = one.mac.to_string();
                L2Connectivity {
                    outgoing_ip_address: one.own.to_string(),
                    outgoing_nic: one.nic.clone(),
                    remote_ip_address: text.to_owned(),
                    successful: macs.contains(&remote_mac),
                    remote_mac,
                }
            })
            .collect();
        l2.sort_by(|a, b| (&a.remote_mac, &a.outgoing_nic).cmp(&(&b.remote_mac, &b.outgoing_nic)));
        remote.l2_connectivity.extend(l2);
        let mut mtu: Vec<_> = fits
            .iter()
            .filter(|fit| fit.target == ip)
            .map(|fit| MtuReport {
                outgoing_nic: fit.nic.clone(),
                remote_ip_address: text.to_owned(),
                mtu_successful: fit.successful,
            })
            .collect();
        mtu.sort_by(|a, b| a.outgoing_nic.cmp(&b.outgoing_nic));
        remote.mtu_report.extend(mtu);
    }
    remote
}

/// An address that never replied has no other fields.
fn l3(text: &str, ip: Option<IpAddr>, reached: &Reached) -> L3Connectivity {
    let unreached = L3Connectivity {
        remote_ip_address: text.to_owned(),
        ..L3Connectivity::default()
    };
    let series = ip.and_then(|ip| reached.get(&ip));
    match series.filter(|series| !series.answered.is_empty()) {
        Some(series) => L3Connectivity {
            successful: true,
            average_rtt_ms: series.average_rtt_ms(),
            packet_loss_percentage: series.loss_percentage(),
            ..unreached
        },
        None => unreached,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use muster_api::steps::{AddressConflict, ConnectivityCheckNic};
    use serde_json::json;

    use super::*;
    use crate::checks::connectivity::links::Neighbour;
    use crate::checks::echo::Series;
    use crate::net::ethernet::Mac;

    fn host(id: &str, mac: &str, ips: &[&str]) -> ConnectivityCheckHost {
        ConnectivityCheckHost {
            host_id: id.to_owned(),
            nics: vec![ConnectivityCheckNic {
                name: "eth0".into(),
                mac: mac.to_owned(),
                ip_addresses: ips.iter().map(|ip| (*ip).to_owned()).collect(),
            }],
        }
    }

    fn neighbour(nic: &str, target: &str, mac: u8) -> Neighbour {
        Neighbour {
            nic: nic.into(),
            own: "10.0.0.1".parse().unwrap(),
            target: target.parse().unwrap(),
            mac: Mac([2, 0, 0, 0, 0, mac]),
        }
    }

    #[test]
    fn the_reply_has_the_protocols_shape_and_order() {
        let hosts = [
            host("b", "02:00:00:00:00:0B", &["10.0.0.9", "10.0.0.10"]),
            host("a", "02:00:00:00:00:0a", &["10.0.0.7", "nonsense"]),
        ];
        let links = Links {
            neighbours: vec![
                neighbour("eth1", "10.0.0.9", 0x0b),
                neighbour("eth0", "10.0.0.9", 0x0b),
                neighbour("eth0", "10.0.0.9", 0x07),
            ],
            conflicts: Vec::new(),
        };
        let series = |answered: &[u64]| Series {
            sent: 10,
            answered: answered.iter().map(|us| Duration::from_micros(*us)).collect(),
        };
        let reached = [
            ("10.0.0.9", series(&[500; 9])),
            ("10.0.0.10", series(&[])),
            ("10.0.0.7", series(&[100; 10])),
        ];
        let reached = reached.map(|(ip, series)| (ip.parse().unwrap(), series)).into();
        let fits = [Fit {
            nic: "eth0".into(),
            target: "10.0.0.9".parse().unwrap(),
            successful: false,
        }];
        let found = serde_json::to_value(report(&hosts, links, &reached, &fits)).unwrap();
        let l2 = |nic: &str, mac: &str| json!({"outgoing_ip_address": "10.0.0.1", "outgoing_nic": nic, "remote_ip_address": "10.0.0.9", "remote_mac": mac});
        let good = |mut entry: serde_json::Value| {
            entry["successful"] = true.into();
            entry
        };
        let expected = json!({"remote_hosts": [
            {
                "host_id": "a",
                "l2_connectivity": null,
                "l3_connectivity": [
                    {"remote_ip_address": "10.0.0.7", "successful": true, "average_rtt_ms": 0.1},
                    {"remote_ip_address": "nonsense"},
                ],
                "mtu_report": null,
            },
            {
                "host_id": "b",
                "l2_connectivity": [
                    l2("eth0", "02:00:00:00:00:07"),
                    good(l2("eth0", "02:00:00:00:00:0b")),
                    good(l2("eth1", "02:00:00:00:00:0b")),
                ],
                "l3_connectivity": [
                    {"remote_ip_address": "10.0.0.10"},
                    {"remote_ip_address": "10.0.0.9", "successful": true, "average_rtt_ms": 0.5, "packet_loss_percentage": 10.0},
                ],
                "mtu_report": [{"outgoing_nic": "eth0", "remote_ip_address": "10.0.0.9"}],
            },
        ]});
        assert_eq!(found, expected);
    }

    #[test]
    fn no_host_is_null_and_conflicts_are_reported_beside_the_hosts() {
        let nothing = report(&[], Links::default(), &Reached::new(), &[]);
        assert_eq!(
            serde_json::to_string(&nothing).unwrap(),
            r#"{"remote_hosts":null}"#
        );
        let conflict = AddressConflict {
            outgoing_nic: "eth0".into(),
            ip_address: "10.0.0.1".into(),
            remote_mac: "02:00:00:00:00:07".into(),
        };
        let links = Links {
            conflicts: vec![conflict.clone()],
            ..Links::default()
        };
        let found = report(&[], links, &Reached::new(), &[]);
        assert_eq!(found.address_conflicts, [conflict]);
    }
}
