//! Sends echo requests to every address along the normal routes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::checks::CheckError;
use crate::checks::echo::{Pace, Pinger, Series};
use crate::checks::icmp_socket::Family;

/// `ping -c 10 -W 3`, but faster.
const PACE: Pace = Pace {
    count: 10,
    gap: Duration::from_millis(200),
    patience: Duration::from_secs(3),
};
/// Addresses that are probed at one time.
const AT_ONCE: usize = 128;

/// The replies by address.
pub(super) type Reached = BTreeMap<IpAddr, Series>;

/// Sends to all targets. A machine without an address family (IPv6 switched off) reaches none of its
/// addresses.
pub(super) async fn ask(targets: &BTreeSet<IpAddr>) -> Result<Reached, CheckError> {
    let v4 = open(Family::V4, targets)?;
    let v6 = open(Family::V6, targets)?;
    let series = targets.iter().map(|ip| {
        let pinger = match Family::of(*ip) {
            Family::V4 => &v4,
            Family::V6 => &v6,
        };
        async move {
            let series = match pinger {
                Some(pinger) => pinger.series(*ip, PACE).await,
                None => Series {
                    sent: PACE.count,
                    answered: Vec::new(),
                },
            };
            (*ip, series)
        }
    });
    // A list first: the compiler does not see through a lazy one that this future can change threads.
    let series: Vec<_> = series.collect();
    Ok(stream::iter(series).buffer_unordered(AT_ONCE).collect().await)
}

/// `None` without targets, or without support for the family.
fn open(family: Family, targets: &BTreeSet<IpAddr>) -> Result<Option<Pinger>, CheckError> {
    if !targets.iter().any(|ip| Family::of(*ip) == family) {
        return Ok(None);
    }
    match Pinger::open(family, None) {
        Ok(pinger) => Ok(Some(pinger)),
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(None),
        Err(error) => Err(CheckError::socket("a socket for echo requests")(error)),
    }
}
