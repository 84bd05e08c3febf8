//! Finds slow and lossy links. Limits: those of the roles (docs/protocol/hardware-requirements.md#2); between two roles the wider one.

use muster_api::host::{HostFinding, HostRole};
use muster_api::steps::L3Connectivity;

use super::cluster_context::{ClusterContext, list, name};
use super::finding::finding;
use super::kinds::{LATENCY_ABOVE_LIMIT, PACKET_LOSS_ABOVE_LIMIT};
use crate::record::Peer;
use crate::rules::requirements::{RoleRequirements, RoleTable};

/// A quantity with its limit.
struct Measure {
    kind: &'static str,
    limit: fn(&RoleRequirements) -> Option<f64>,
    of: fn(&L3Connectivity) -> f64,
    message: fn(&str) -> String,
    unit: &'static str,
}

/// Packets that take too long.
pub(super) fn latency(context: &ClusterContext<'_>) -> Option<HostFinding> {
    above(
        context,
        &Measure {
            kind: LATENCY_ABOVE_LIMIT,
            limit: |row| row.network_latency_threshold_ms,
            of: |link| link.average_rtt_ms,
            message: |list| {
                format!(
                    "Packets take longer than the hosts' roles allow: to {list}. Look for an overloaded or far link between them"
                )
            },
            unit: " ms",
        },
    )
}

/// Packets that are lost. Unreachable peers have another finding.
pub(super) fn packet_loss(context: &ClusterContext<'_>) -> Option<HostFinding> {
    above(
        context,
        &Measure {
            kind: PACKET_LOSS_ABOVE_LIMIT,
            limit: |row| row.packet_loss_percentage,
            of: |link| link.packet_loss_percentage,
            message: |list| {
                format!(
                    "More packets are lost than the hosts' roles allow: to {list}. Check cables, optics and duplex settings between them"
                )
            },
            unit: " %",
        },
    )
}

fn above(context: &ClusterContext<'_>, measure: &Measure) -> Option<HostFinding> {
    let own = (measure.limit)(row(context.roles, context.role()));
    let mut worse: Vec<(&Peer, String)> = Vec::new();
    for (peer, remote) in context.reported() {
        let limit = match (own, (measure.limit)(row(context.roles, peer.role))) {
            (Some(own), Some(other)) => own.max(other),
            (None, _) | (_, None) => continue,
        };
        let worst = remote
            .l3_connectivity
            .iter()
            .filter(|link| link.successful)
            .map(measure.of)
            .filter(|value| *value > limit)
            .max_by(f64::total_cmp);
        if let Some(value) = worst {
            let text = format!(
                "{} ({value:.0}{unit}, limit {limit}{unit})",
                name(peer),
                unit = measure.unit
            );
            worse.push((peer, text));
        }
    }
    if worse.is_empty() {
        return None;
    }
    let names: Vec<String> = worse.iter().map(|(_, text)| text.clone()).collect();
    let others = worse.iter().map(|(peer, _)| peer.id);
    Some(finding(
        measure.kind,
        "",
        others,
        (measure.message)(&list(&names)),
    ))
}

fn row(roles: &RoleTable, role: HostRole) -> &RoleRequirements {
    match role {
        HostRole::Master | HostRole::Bootstrap => &roles.master,
        HostRole::Arbiter => &roles.arbiter,
        HostRole::Worker | HostRole::AutoAssign => &roles.worker,
    }
}
