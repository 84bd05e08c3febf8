//! Finds differences between the host's network and its configuration. The agent compares both, since it applied the
//! configuration.

use std::collections::BTreeMap;

use muster_api::host::HostFinding;
use muster_api::inventory::InventoryProblem;

use super::finding::finding;
use super::kinds::{KERNEL_ARGUMENT, NETWORK_NOT_AS_CONFIGURED, SWITCH_PORT_UNHEARD};
use crate::record::Host;
use crate::text::one_line;

/// Longest name of an interface or text of an argument in a finding, bytes.
const NAME_TEXT: usize = 64;
/// Longest description of one difference, bytes.
const REASON_TEXT: usize = 400;
/// Interfaces and arguments that have a finding each, and differences that one names.
const MOST: usize = 16;

/// Kind and subject of the finding about a problem of the inventory, if it makes one.
fn subject(problem: &InventoryProblem) -> Option<(&'static str, String)> {
    let (kind, about) = problem.subject.split_once('.')?;
    let kind = match kind {
        "network" => NETWORK_NOT_AS_CONFIGURED,
        "kernel-argument" => KERNEL_ARGUMENT,
        "switch-port" => SWITCH_PORT_UNHEARD,
        _ => return None,
    };
    Some((kind, one_line(about, NAME_TEXT)))
}

/// True when one of the findings is about this problem of the inventory.
pub fn has_problem(findings: &[HostFinding], problem: &InventoryProblem) -> bool {
    subject(problem).is_some_and(|(kind, about)| {
        let mut findings = findings.iter();
        findings.any(|finding| (finding.kind.as_str(), &finding.about) == (kind, &about))
    })
}

/// By interface, and by kernel argument.
pub(super) fn not_as_configured(host: &Host) -> Vec<HostFinding> {
    let mut by_subject: BTreeMap<(&'static str, String), Vec<String>> = BTreeMap::new();
    let problems = host.inventory.iter().flat_map(|inventory| &inventory.problems);
    for problem in problems {
        let Some(subject) = subject(problem) else {
            continue;
        };
        let reasons = by_subject.entry(subject).or_default();
        if reasons.len() < MOST {
            reasons.push(one_line(&problem.reason, REASON_TEXT));
        }
    }
    by_subject
        .into_iter()
        .take(MOST)
        .map(|((kind, about), reasons)| {
            let reasons = reasons.join("; ");
            let message = match kind {
                KERNEL_ARGUMENT => format!("The kernel argument {about} {reasons}"),
                SWITCH_PORT_UNHEARD => format!("{about}: {reasons}"),
                _ => format!("{about} is not as the static network of this host has it: {reasons}"),
            };
            finding(kind, about, [], message)
        })
        .collect()
}
