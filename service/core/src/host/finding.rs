//! What is noteworthy about a host beyond the protocol's validations: additive, and never a gate.

use super::identity;
use crate::validate::Look;

pub use muster_api::host::HostFinding as Finding;

/// Every finding about a host, worked out anew.
pub fn evaluate(look: &Look<'_>) -> Vec<Finding> {
    let mut findings = identity::lasting(look.host);
    findings.extend(crate::findings::evaluate(look));
    findings.sort();
    findings
}
