//! Whom this host reaches of the others: by ARP and NDP on each link, by echo requests, and with full-sized packets.
//! Source: docs/protocol/agent-protocol.md#7.
//!
//! Where this differs from the field's agents, on purpose:
//! - every machine that answers for an IPv6 address is listed, as for IPv4: several are a conflict;
//! - on a card with MTU 1500 full-sized packets are tried too, and a failure is reported (a success is not): that is
//!   how a path with a smaller MTU is found;
//! - who else answers for this host's own IPv4 addresses is told in `address_conflicts`;
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
use super::nics::Nic;

/// Checks from `nics` to `hosts`. All at once, except that no more than a bounded number of packets is under way.
///
/// # Errors
/// [`CheckError`]: a host id that is none, or no right to open sockets.
pub async fn check(nics: &[Nic], hosts: &[ConnectivityCheckHost]) -> Result<ConnectivityReport, CheckError> {
    if let Some(host) = hosts.iter().find(|host| Uuid::try_parse(&host.host_id).is_err()) {
        return Err(CheckError::Request(format!(
            "`{}` is no host id: a UUID is wanted",
            host.host_id
        )));
    }
    let targets = addresses(hosts);
    let (links, reached) = tokio::join!(links::ask(nics, &targets), reach::ask(&targets));
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

/// Every address once. What is no address is found to be unreachable by not being asked.
fn addresses(hosts: &[ConnectivityCheckHost]) -> BTreeSet<IpAddr> {
    hosts
        .iter()
        .flat_map(|host| &host.nics)
        .flat_map(|nic| &nic.ip_addresses)
        .filter_map(|text| text.parse().ok())
        .collect()
}
