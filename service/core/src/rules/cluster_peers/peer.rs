//! Builds the record of a host that its peers see.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::host::HostRole;
use muster_api::inventory::Inventory;
use muster_api::steps::{ConnectivityCheckHost, ConnectivityCheckNic};

use crate::json::to_json;
use crate::record::{Host, Peer};
use crate::rules::hostname;

/// Returns `host` as the other hosts of its cluster see it. The clock is left out: it changes all the time, and is in
/// the store of polls.
pub fn peer(host: &Host) -> Peer {
    let data = &host.data;
    Peer {
        id: host.id,
        status: host.state.status(),
        role: match data.role {
            HostRole::AutoAssign => data.suggested_role,
            given @ (HostRole::Master | HostRole::Arbiter | HostRole::Worker | HostRole::Bootstrap) => given,
        },
        hostname: hostname::effective(host).unwrap_or_default().to_owned(),
        nics: host.inventory.as_deref().map(nics).unwrap_or_default(),
        clock_offset_secs: None,
        sees: data.sees.clone(),
    }
}

/// Returns a peer in the form of `connectivity-check`: JSON text.
pub fn asked_about(peer: &Peer) -> String {
    to_json(&ConnectivityCheckHost {
        host_id: peer.id.to_string(),
        nics: peer.nics.clone(),
    })
}

fn nics(inventory: &Inventory) -> Vec<ConnectivityCheckNic> {
    inventory
        .interfaces
        .iter()
        .map(|interface| ConnectivityCheckNic {
            name: interface.name.clone(),
            mac: interface.mac_address.clone(),
            ip_addresses: interface
                .ipv4_addresses
                .iter()
                .chain(&interface.ipv6_addresses)
                .filter_map(|address| address_alone(address))
                .collect(),
        })
        .collect()
}

/// `192.0.2.7/24` is `192.0.2.7` for others.
fn address_alone(text: &str) -> Option<String> {
    let address = match text.parse::<IpNet>() {
        Ok(net) => net.addr(),
        Err(_) => text.parse::<IpAddr>().ok()?,
    };
    Some(address.to_string())
}

#[cfg(test)]
mod tests {
    use super::address_alone;

    #[test]
    fn prefix_lengths_are_nobody_elses_business() {
        assert_eq!(address_alone("192.0.2.7/24").as_deref(), Some("192.0.2.7"));
        assert_eq!(address_alone("2001:db8::7").as_deref(), Some("2001:db8::7"));
        assert_eq!(address_alone("nowhere"), None);
    }
}
