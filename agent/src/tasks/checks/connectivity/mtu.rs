//! Checks that full-sized packets get through without fragmentation.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::reach::Reached;
use crate::checks::CheckError;
use crate::checks::echo::{ORDINARY, Pinger, filling};
use crate::checks::icmp_socket::Family;
use crate::checks::nics::Nic;

/// The MTU at which upstream's agents skip this check.
const USUAL: usize = 1500;
/// `ping -c 3`.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(1);
/// Addresses that are probed at one time.
const AT_ONCE: usize = 64;

/// The result for one address through one card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fit {
    pub nic: String,
    pub target: IpAddr,
    pub successful: bool,
}

/// Probes all addresses of `reached` through all cards.
pub(super) async fn ask(nics: &[Nic], reached: &Reached) -> Result<Vec<Fit>, CheckError> {
    let mut pingers = HashMap::new();
    for nic in nics {
        for family in [Family::V4, Family::V6] {
            match Pinger::open(family, Some(&nic.name)) {
                Ok(pinger) => {
                    pingers.insert((nic.name.as_str(), family), pinger);
                }
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    return Err(CheckError::socket(format!("echo requests on {}", nic.name))(
                        error,
                    ));
                }
                Err(error) => tracing::info!(nic = nic.name, %error, "no echo requests on this card"),
            }
        }
    }
    let on_some_link = |ip: IpAddr| nics.iter().any(|nic| nic.address_near(ip).is_some());
    let pairs = nics
        .iter()
        .flat_map(|nic| reached.iter().map(move |(ip, series)| (nic, *ip, series)));
    let questions = pairs.map(|(nic, ip, series)| {
        let pinger = pingers.get(&(nic.name.as_str(), Family::of(ip)));
        // The result of a card that is not on the route to an address is not one of the path.
        let is_way = nic.address_near(ip).is_some() || !on_some_link(ip);
        let answers = !series.answered.is_empty();
        async move {
            let successful = if nic.mtu != USUAL {
                as_others(nic, pinger, ip).await
            } else if answers && is_way && nic.speaks(ip) {
                failure_only(nic, pinger, ip).await
            } else {
                None
            };
            successful.map(|successful| Fit {
                nic: nic.name.clone(),
                target: ip,
                successful,
            })
        }
    });
    // A list first: the compiler does not see through a lazy one that this future can change threads.
    let questions: Vec<_> = questions.collect();
    let fits: Vec<Option<Fit>> = stream::iter(questions).buffer_unordered(AT_ONCE).collect().await;
    Ok(fits.into_iter().flatten().collect())
}

/// The result that the protocol prescribes: none for an address that no small packet reaches.
async fn as_others(nic: &Nic, pinger: Option<&Pinger>, ip: IpAddr) -> Option<bool> {
    if !nic.speaks(ip) {
        return Some(true);
    }
    let pinger = pinger?;
    let payload = filling(nic.mtu, Family::of(ip))?;
    if !pinger.any(ip, ORDINARY, TRIES, PATIENCE).await {
        return None;
    }
    Some(pinger.any(ip, payload, TRIES, PATIENCE).await)
}

/// One full-sized packet with a reply is a success. A failure is reported only if small packets came through
/// both before and after full-sized ones that did not.
async fn failure_only(nic: &Nic, pinger: Option<&Pinger>, ip: IpAddr) -> Option<bool> {
    let pinger = pinger?;
    let payload = filling(nic.mtu, Family::of(ip))?;
    let fails = !pinger.any(ip, payload, 1, PATIENCE).await
        && pinger.any(ip, ORDINARY, TRIES, PATIENCE).await
        && !pinger.any(ip, payload, TRIES, PATIENCE).await
        && pinger.any(ip, ORDINARY, TRIES, PATIENCE).await;
    fails.then_some(false)
}
