//! How well hosts of the same role reach each other. Source: docs/protocol/hardware-requirements.md#4.

use muster_api::steps::{ConnectivityReport, L3Connectivity};

use super::look::View;
use super::{Verdict, no_inventory};
use crate::findings::find_peer;
use muster_api::host::HostRole;

/// Peers that are named in a message.
const NAMED: usize = 5;

/// What is measured.
struct Measure {
    name: &'static str,
    unit: &'static str,
    threshold: Option<f64>,
    of: fn(&L3Connectivity) -> f64,
}

/// `sufficient-network-latency-requirement-for-role`.
pub(super) fn latency(look: &View<'_>) -> Verdict {
    judge(look, || Measure {
        name: "latency",
        unit: " ms",
        threshold: look.required().total.network_latency_threshold_ms,
        of: |link| link.average_rtt_ms,
    })
}

/// `sufficient-packet-loss-requirement-for-role`.
pub(super) fn packet_loss(look: &View<'_>) -> Verdict {
    judge(look, || Measure {
        name: "packet loss",
        unit: " %",
        threshold: look.required().total.packet_loss_percentage,
        of: |link| link.packet_loss_percentage,
    })
}

fn judge(look: &View<'_>, measure: impl Fn() -> Measure) -> Verdict {
    if look.inventory().is_none() {
        return no_inventory();
    }
    let Some(bound) = look.bound() else {
        return Verdict::Hidden;
    };
    let measure = measure();
    let role = look.role();
    let Some(threshold) = measure.threshold else {
        return Verdict::Success(format!(
            "No limit of {} is set for the role {}",
            measure.name,
            role.name()
        ));
    };
    if bound.is_day2() {
        return Verdict::Success(format!(
            "The cluster exists; too much {} is among the host's findings",
            measure.name
        ));
    }
    if bound.peers.is_empty() || role == HostRole::AutoAssign {
        return Verdict::Success(format!(
            "There is no other host of this role whose {} matters",
            measure.name
        ));
    }
    let Some(report) = &look.host.reports.connectivity else {
        return Verdict::Pending("Waits until the host has told whom it reaches".into());
    };
    let same_role = |id: &str| {
        let peer = find_peer(bound.peers, id)?;
        (peer.role == role).then(|| {
            if peer.hostname.is_empty() {
                id.to_owned()
            } else {
                peer.hostname.clone()
            }
        })
    };
    let worse = above(report, threshold, &measure, same_role);
    if worse.is_empty() {
        return Verdict::Success(format!(
            "The {} to the other hosts of the role {} is at most {threshold}{}",
            measure.name,
            role.name(),
            measure.unit
        ));
    }
    let shown: Vec<&str> = worse.iter().take(NAMED).map(|(text, _)| text.as_str()).collect();
    Verdict::Failure(format!(
        "The {} to other hosts of the role {} is above {threshold}{}: {}{}. Check the links between them, for example with: ping -c 10 {}",
        measure.name,
        role.name(),
        measure.unit,
        shown.join(", "),
        if worse.len() > NAMED { ", ..." } else { "" },
        worse.first().map_or("", |(_, address)| address)
    ))
}

/// Peers with a worse value, described, each with an address.
fn above(
    report: &ConnectivityReport,
    threshold: f64,
    measure: &Measure,
    peer: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let mut worse = Vec::new();
    for remote in &report.remote_hosts {
        let Some(name) = peer(&remote.host_id) else {
            continue;
        };
        let worst = remote
            .l3_connectivity
            .iter()
            .filter(|link| link.successful && (measure.of)(link) > threshold)
            .max_by(|a, b| (measure.of)(a).total_cmp(&(measure.of)(b)));
        if let Some(link) = worst {
            let text = format!("{name} ({:.2}{})", (measure.of)(link), measure.unit);
            worse.push((text, link.remote_ip_address.clone()));
        }
    }
    worse
}
