//! Probes the neighbours of this host, and finds other owners of its own addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;

use futures_util::future::join_all;
use muster_api::steps::AddressConflict;

use crate::checks::CheckError;
use crate::checks::icmp_socket::Family;
use crate::checks::neighbours::{Answers, Plan, sweep};
use crate::checks::nics::Nic;
use crate::net::ethernet::Mac;

/// A machine that replied for an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Neighbour {
    pub nic: String,
    /// This host's address in the same network.
    pub own: IpAddr,
    pub target: IpAddr,
    pub mac: Mac,
}

/// The replies from all links.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub neighbours: Vec<Neighbour>,
    pub conflicts: Vec<AddressConflict>,
}

/// Probes, on every card, the targets in its networks, and by IPv4 the host's own addresses. Replies of this host's other cards (`own`)
/// do not count: two of them in one segment are no conflict.
pub(super) async fn ask(
    nics: &[Nic],
    own: &BTreeSet<Mac>,
    targets: &BTreeSet<IpAddr>,
) -> Result<Links, CheckError> {
    let sweeps = nics.iter().flat_map(|nic| {
        [Family::V4, Family::V6].map(|family| async move {
            let asked = questions(nic, family, targets);
            (nic, sweep(nic, family, &asked, Plan::THOROUGH).await)
        })
    });
    let mut links = Links::default();
    for (nic, answers) in join_all(sweeps).await {
        match answers {
            Ok(answers) => links.add(nic, own, targets, answers),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(CheckError::Socket {
                    what: format!("probing neighbours on {}", nic.name),
                    source: error,
                });
            }
            // A card that is down or not Ethernet has no neighbours.
            Err(error) => tracing::info!(nic = nic.name, %error, "neighbours cannot be probed"),
        }
    }
    Ok(links)
}

fn questions(nic: &Nic, family: Family, targets: &BTreeSet<IpAddr>) -> Vec<IpAddr> {
    let mut asked: BTreeSet<IpAddr> = targets
        .iter()
        .filter(|ip| Family::of(**ip) == family && nic.address_near(**ip).is_some())
        .copied()
        .collect();
    match family {
        Family::V4 => asked.extend(nic.v4.iter().map(|net| IpAddr::V4(net.addr()))),
        // The kernel's own duplicate address detection covers these.
        Family::V6 => asked.retain(|ip| !nic.has(*ip)),
    }
    asked.into_iter().collect()
}

impl Links {
    fn add(&mut self, nic: &Nic, own_macs: &BTreeSet<Mac>, targets: &BTreeSet<IpAddr>, answers: Answers) {
        for (target, macs) in answers {
            let Some(own) = nic.address_near(target) else {
                continue;
            };
            for mac in macs.difference(own_macs).copied() {
                if nic.has(target) {
                    self.conflicts.push(AddressConflict {
                        outgoing_nic: nic.name.clone(),
                        ip_address: target.to_string(),
                        remote_mac: mac.to_string(),
                    });
                }
                if targets.contains(&target) {
                    self.neighbours.push(Neighbour {
                        nic: nic.name.clone(),
                        own,
                        target,
                        mac,
                    });
                }
            }
        }
    }
}
