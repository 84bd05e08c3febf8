//! Checks that the VIPs of a cluster are free: no reply by ARP, NDP or echo. Source:
//! docs/protocol/agent-protocol.md#6.

use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use muster_api::steps::{VerifiedVip, VerifyVip, VipVerification};

use crate::checks::CheckError;
use crate::checks::echo::{Pace, Pinger};
use crate::checks::icmp_socket::Family;
use crate::checks::neighbours::{Plan, sweep};
use crate::checks::nics::Nic;

const PACE: Pace = Pace {
    count: 3,
    gap: Duration::from_millis(200),
    patience: Duration::from_secs(2),
};
/// A cluster has at most four; the limit keeps a mistake harmless.
const MOST: usize = 64;

/// Searches for the owners of `vips`, all at once.
///
/// # Errors
/// [`CheckError`]: a VIP that is no address, or no permission to open sockets.
pub async fn verify(nics: &[Nic], vips: &[VerifyVip]) -> Result<Vec<VerifiedVip>, CheckError> {
    if vips.len() > MOST {
        return Err(CheckError::Request(format!(
            "{} VIPs are too many: at most {MOST}",
            vips.len()
        )));
    }
    try_join_all(vips.iter().map(|vip| async {
        let ip = vip
            .vip
            .parse()
            .map_err(|_| CheckError::Request(format!("the VIP `{}` is no IP address", vip.vip)))?;
        let verification = if is_taken(nics, ip).await? {
            VipVerification::Failed
        } else {
            VipVerification::Succeeded
        };
        Ok(VerifiedVip {
            vip: vip.vip.clone(),
            vip_type: vip.vip_type,
            verification,
        })
    }))
    .await
}

async fn is_taken(nics: &[Nic], ip: IpAddr) -> Result<bool, CheckError> {
    if nics.iter().any(|nic| nic.has(ip)) {
        return Ok(true);
    }
    let (claimed, answered) = tokio::join!(is_claimed(nics, ip), answers(ip));
    Ok(claimed? || answered?)
}

/// True when a machine on one of the links claims the address.
async fn is_claimed(nics: &[Nic], ip: IpAddr) -> Result<bool, CheckError> {
    let near = nics.iter().filter(|nic| nic.address_near(ip).is_some());
    let answers = join_all(near.map(|nic| async move {
        let answers = sweep(nic, Family::of(ip), &[ip], Plan::THOROUGH).await;
        answers.map_err(CheckError::socket(format!("probing {ip} on {}", nic.name)))
    }));
    let mut claimed = false;
    for answers in answers.await {
        claimed |= !answers?.is_empty();
    }
    Ok(claimed)
}

async fn answers(ip: IpAddr) -> Result<bool, CheckError> {
    match Pinger::open(Family::of(ip), None) {
        Ok(pinger) => Ok(!pinger.series(ip, PACE).await.answered.is_empty()),
        // Without support for the family no host can be reached by it.
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(false),
        Err(error) => Err(CheckError::socket("a socket for echo requests")(error)),
    }
}
