//! Evaluates all findings of a host.

use muster_api::host::HostFinding;

use super::cluster_context::ClusterContext;
use super::{address, clock, disk, health, image, mtu, name, network, quality, reach, vlan};
use crate::record::Host;
use crate::rules::facts::HostFacts;
use crate::rules::identity;

/// All findings about a host, sorted. Those about its identity are kept as they are: no later report can disprove them.
pub fn evaluate(host: &Host, facts: &HostFacts<'_>) -> Vec<HostFinding> {
    let mut findings = identity::lasting(host);
    findings.extend(clock::against_service(host, facts));
    findings.extend(disk::missing(host));
    findings.extend(image::unverified(host));
    findings.extend(vlan::missing(host));
    findings.extend(network::not_as_configured(host));
    findings.extend(name::changed(host));
    findings.extend(health::of_sensors(host));
    findings.extend(health::smaller_than_approved(host));
    if let Some(context) = ClusterContext::of(host, facts) {
        findings.extend(clock::among_hosts(&context));
        findings.extend(address::duplicates(&context));
        findings.extend(reach::unreachable(&context));
        findings.extend(reach::one_way(&context));
        findings.extend(reach::by_segment(&context));
        findings.extend(mtu::too_large(&context));
        findings.extend(quality::latency(&context));
        findings.extend(quality::packet_loss(&context));
    }
    findings.sort();
    findings
}

/// New findings, and old ones without a successor of the same subject (`kind` and `about`). A finding that names other
/// hosts than before is new; the old one is not gone.
pub fn changed<'a>(
    old: &'a [HostFinding],
    new: &'a [HostFinding],
) -> (Vec<&'a HostFinding>, Vec<&'a HostFinding>) {
    let same = |a: &HostFinding, b: &HostFinding| a.kind == b.kind && a.about == b.about;
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
