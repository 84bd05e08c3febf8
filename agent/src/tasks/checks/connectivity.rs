//! Checks which of the other hosts this host can reach: by ARP and NDP on each link, by echo requests, and
//! with full-sized packets. Source: docs/protocol/agent-protocol.md#7.
//!
//! Differences from upstream's agents, on purpose:
//! - every machine that replies for an IPv6 address is listed, as for IPv4: several are a conflict;
//! - on a card with MTU 1500 full-sized packets are tried too, and a failure is reported (a success is not):
//!   this finds a path with a smaller MTU;
//! - other owners of this host's IPv4 addresses are reported in `address_conflicts`;
//! - the ten echo requests leave 200 ms apart instead of a second.

mod links;
mod mtu;
mod reach;
mod report;

use std::collections::BTreeSet;
use std::net::IpAddr;

use muster_api::steps::{ConnectivityCheckHost, ConnectivityReport};
use uuid::Uuid;

use super::CheckError;
use super::nics::{Nic, own_macs};
use crate::root::Root;

/// Checks from `nics` to `hosts`, all at once but with a bounded number of packets in flight.
///
/// # Errors
/// [`CheckError`]: an invalid host id, or no permission to open sockets.
pub async fn check(nics: &[Nic], hosts: &[ConnectivityCheckHost]) -> Result<ConnectivityReport, CheckError> {
    if let Some(host) = hosts.iter().find(|host| Uuid::try_parse(&host.host_id).is_err()) {
        return Err(CheckError::Request(format!(
            "`{}` is no host id: a UUID is wanted",
            host.host_id
        )));
    }
    let targets = addresses(hosts);
    let own = own_macs(&Root::live());
    let (links, reached) = tokio::join!(links::ask(nics, &own, &targets), reach::ask(&targets));
    let (links, reached) = (links?, reached?);
    let fits = mtu::ask(nics, &reached).await?;
    for conflict in &links.conflicts {
        tracing::warn!(
            nic = conflict.outgoing_nic,
            address = conflict.ip_address,
            mac = conflict.remote_mac,
            "another machine has an address of this host"
        );
    }
    Ok(report::report(hosts, links, &reached, &fits))
}

/// Every address once. A text that is no address is skipped, and so reported as unreachable.
fn addresses(hosts: &[ConnectivityCheckHost]) -> BTreeSet<IpAddr> {
    hosts
        .iter()
        .flat_map(|host| &host.nics)
        .flat_map(|nic| &nic.ip_addresses)
        .filter_map(|text| text.parse().ok())
        .collect()
}
