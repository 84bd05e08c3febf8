//! What is noteworthy about a host beyond the protocol's validations: additive, and never a gate.

use muster_api::ids::HostId;
use serde::{Deserialize, Serialize};

use super::identity;
use crate::validate::Look;

/// One finding. Two findings are the same when `kind`, `about` and `others` are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// What kind: a stable name in kebab-case, such as `duplicate-address`.
    pub kind: String,
    /// What it is about: an address, an interface; may be empty.
    #[serde(default)]
    pub about: String,
    /// Other hosts that have to do with it, sorted.
    #[serde(default)]
    pub others: Vec<HostId>,
    /// What is wrong and what to do.
    pub message: String,
}

/// Every finding about a host, worked out anew.
pub fn evaluate(look: &Look<'_>) -> Vec<Finding> {
    let mut findings = identity::lasting(look.host);
    findings.extend(crate::findings::evaluate(look));
    findings.sort();
    findings
}
