//! What is noteworthy about a host among the others of its cluster: who reaches whom, addresses in use twice, links that are too
//! narrow, slow or lossy, clocks that differ. Never a gate: the protocol's validations of hosts that are added to a cluster look
//! away here (docs/protocol/host-validations.tsv, column `day2`), and this is what shows it.
//!
//! Facts are the host's own report of others, what others report of it ([`Sees`]), and their inventories ([`Peer`]). One subject
//! a file; each gives at most a few findings, however many hosts they name, so that a dead switch does not bury the rest.
//! Texts hold no moment and round what is measured.

mod address;
mod around;
mod clock;
mod mtu;
mod quality;
mod reach;
mod sees;

use muster_api::ids::HostId;

pub use sees::{matters_to_others, peers_matter, sees};

use crate::host::{Finding, Host, HostFacts};
use crate::validate::Look;
use around::Around;
pub(crate) use around::find_peer;

/// A peer answers neither on its segment nor to pings.
pub const PEER_UNREACHABLE: &str = "peer-unreachable";
/// The host reaches a peer, and that does not reach the host.
pub const ONE_WAY_LINK: &str = "one-way-link";
/// A peer has an address in a network of the host's, and that one does not answer; others of it do.
pub const ADDRESS_UNREACHABLE: &str = "address-unreachable";
/// A peer answers on the segment and not to pings.
pub const PING_UNANSWERED: &str = "ping-unanswered";
/// A peer in a network of the host's answers to pings and not on the segment.
pub const NOT_ON_SEGMENT: &str = "not-on-segment";
/// An address is used by two machines.
pub const DUPLICATE_ADDRESS: &str = "duplicate-address";
/// Full-sized packets do not get through.
pub const MTU_TOO_LARGE: &str = "mtu-too-large-for-path";
/// The clock differs from the service's, or from those of other hosts.
pub const CLOCK_OFFSET: &str = "clock-offset";
/// Packets take longer than the role allows.
pub const LATENCY_ABOVE_LIMIT: &str = "latency-above-limit";
/// More packets are lost than the role allows.
pub const PACKET_LOSS_ABOVE_LIMIT: &str = "packet-loss-above-limit";

/// Every finding about the host among others, worked out anew and sorted.
pub fn evaluate(look: &Look<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = clock::against_service(look).into_iter().collect();
    if let Some(around) = Around::of(look) {
        findings.extend(clock::among_hosts(&around));
        findings.extend(address::duplicates(&around));
        findings.extend(reach::unreachable(&around));
        findings.extend(reach::one_way(&around));
        findings.extend(reach::by_segment(&around));
        findings.extend(mtu::too_large(&around));
        findings.extend(quality::latency(&around));
        findings.extend(quality::packet_loss(&around));
    }
    findings.sort();
    findings
}

/// What is new among findings, and which subjects (`kind` and `about`) have none any more. A finding that names other hosts
/// than before is new; the old one is not gone.
pub fn changed<'a>(old: &'a [Finding], new: &'a [Finding]) -> (Vec<&'a Finding>, Vec<&'a Finding>) {
    let same = |a: &Finding, b: &Finding| a.kind == b.kind && a.about == b.about;
    let appeared = new
        .iter()
        .filter(|is| !old.iter().any(|was| same(was, is) && was.others == is.others))
        .collect();
    let gone = old
        .iter()
        .filter(|was| !new.iter().any(|is| same(was, is)))
        .collect();
    (appeared, gone)
}

/// Seconds that the host's clock was ahead of the service's when it last told.
pub fn clock_offset(host: &Host, facts: &HostFacts<'_>) -> Option<i64> {
    facts
        .clock(host)
        .map(|(clock, told_at)| clock.saturating_sub(told_at.timestamp()))
}

fn finding(
    kind: &str,
    about: impl Into<String>,
    others: impl IntoIterator<Item = HostId>,
    message: String,
) -> Finding {
    let mut others: Vec<HostId> = others.into_iter().collect();
    others.sort_unstable();
    others.dedup();
    Finding {
        kind: kind.to_owned(),
        about: about.into(),
        others,
        message,
    }
}
