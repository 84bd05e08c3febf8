//! Computes what a machine that is not there yet can count on: for autoscalers that begin with no machine. Source:
//! docs/protocol/capi-day1.md, section 1.

use std::collections::BTreeMap;

use super::{Candidate, Hardware, Need, another_architecture, without_image};

/// What each host of a pool has at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Least {
    /// Architecture of the processors, as inventories name it; `None`: no host has reported its own.
    pub architecture: Option<String>,
    /// The least of each size, of the hosts with this architecture.
    pub hardware: Hardware,
}

/// Returns the least sizes of the hosts that machines of `need` may be on sooner or later, of the architecture that most of them have.
/// `None`: there is no such host. Whether a host is free, connected or checked at this time does not count, nor do failure domains.
pub fn least<'a>(need: &Need, candidates: impl IntoIterator<Item = &'a Candidate>) -> Option<Least> {
    let mut pools: BTreeMap<Option<&str>, (usize, Hardware)> = BTreeMap::new();
    let may_serve = |one: &&Candidate| may_serve(need, one);
    for one in candidates.into_iter().filter(may_serve) {
        let (count, least) = pools
            .entry(one.architecture.as_deref())
            .or_insert((0, one.hardware));
        *count += 1;
        *least = smaller(*least, one.hardware);
    }
    // A known architecture is preferred; of equally frequent ones the first by name.
    let (architecture, (_, hardware)) = pools
        .into_iter()
        .rev()
        .max_by_key(|(architecture, (count, _))| (architecture.is_some(), *count))?;
    Some(Least {
        architecture: architecture.map(str::to_owned),
        hardware,
    })
}

/// True for a host that is of the pool, whatever its state.
fn may_serve(need: &Need, one: &Candidate) -> bool {
    one.host.namespace == need.namespace
        && need.selector.unmet(&one.labels).is_none()
        && need.may_have(one)
        && one
            .cluster
            .as_ref()
            .is_none_or(|cluster| *cluster == need.cluster)
        && one.is_approved
        && !one.is_leaving
        && one.hardware.cpus > 0
        && one.hardware.memory_bytes > 0
        && one.hardware.lacks(&need.minimum).is_none()
        && another_architecture(need, one).is_none()
        && without_image(need, one).is_none()
}

fn smaller(a: Hardware, b: Hardware) -> Hardware {
    Hardware {
        cpus: a.cpus.min(b.cpus),
        memory_bytes: a.memory_bytes.min(b.memory_bytes),
        disk_bytes: a.disk_bytes.min(b.disk_bytes),
    }
}
