//! Decides which Machines a NodePool makes and deletes, as Cluster API does for a MachineDeployment (a MachineSet, for InPlace).
//! Source: Cluster API v1.11, internal/controllers/machinedeployment/rolling, machineset/machineset_delete_policy.go.

use muster_resources::Time;
use muster_resources::hypershift::{Management, UpgradeStrategy, UpgradeType};

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A Machine of the pool, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    pub name: String,
    /// It is being deleted.
    pub deleting: bool,
    /// It is made from what the pool asks for now.
    pub up_to_date: bool,
    /// It has a Node that is ready.
    pub available: bool,
    /// It has a Node, and nothing is wrong with it.
    pub healthy: bool,
    /// Somebody chose it to go first.
    pub chosen: bool,
    pub created: Option<Time>,
}

/// The limits within which the pool may change Machines that are not up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rolling {
    /// Machines are added and deleted within these limits.
    Limits { surge: usize, unavailable: usize },
    /// Somebody else deletes them; they are replaced then.
    OnDelete,
    /// They stay.
    InPlace,
}

/// The steps to be done now. None: it is waited for Machines, or all is as it should be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Machines to be made.
    pub create: usize,
    /// Names of Machines to be deleted.
    pub delete: Vec<String>,
}

/// The limits that a pool of this size asks for.
pub fn rolling(management: &Management, wanted: usize) -> Rolling {
    if management.upgrade_type == UpgradeType::InPlace {
        return Rolling::InPlace;
    }
    let replace = management.replace.clone().unwrap_or_default();
    if replace.strategy == UpgradeStrategy::OnDelete {
        return Rolling::OnDelete;
    }
    let update = replace.rolling_update.unwrap_or_default();
    let surge = number(update.max_surge.as_ref(), 1, wanted, usize::div_ceil);
    let unavailable = number(update.max_unavailable.as_ref(), 0, wanted, |all, part| all / part);
    // With neither, nothing could ever change.
    let unavailable = if surge == 0 {
        unavailable.max(1)
    } else {
        unavailable
    };
    Rolling::Limits { surge, unavailable }
}

/// A number of Machines, or a percentage of all.
fn number(
    value: Option<&IntOrString>,
    default: usize,
    all: usize,
    divide: impl Fn(usize, usize) -> usize,
) -> usize {
    match value {
        None => default,
        Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or(0),
        Some(IntOrString::String(text)) => match text.strip_suffix('%') {
            Some(percent) => divide(all * percent.trim().parse::<usize>().unwrap_or(0), 100),
            None => text.parse().unwrap_or(default),
        },
    }
}

/// Decides about all Machines of the pool.
pub fn plan(machines: &[View], wanted: usize, rolling: Rolling) -> Plan {
    let current = |machine: &&View| machine.up_to_date || rolling == Rolling::InPlace;
    let alive = || machines.iter().filter(|machine| !machine.deleting);
    let new: Vec<&View> = alive().filter(current).collect();
    let old: Vec<&View> = alive().filter(|machine| !current(machine)).collect();
    let Rolling::Limits { surge, unavailable } = rolling else {
        return without_limits(&new, &old, wanted);
    };
    let mut plan = Plan::default();
    let is_rolling = machines.iter().any(|machine| !machine.up_to_date);
    if new.len() > wanted {
        plan.delete = first_to_go(&new, new.len() - wanted);
    } else if !is_rolling {
        plan.create = wanted - new.len();
    } else {
        // Those that are being deleted still have their hosts, which their successors may need.
        let room = (wanted + surge).saturating_sub(machines.len());
        plan.create = room.min(wanted - new.len());
    }
    plan.delete.extend(old_to_go(&new, &old, wanted, unavailable));
    plan
}

/// Old Machines stay until somebody deletes them, or the pool is too large.
fn without_limits(new: &[&View], old: &[&View], wanted: usize) -> Plan {
    let all = new.len() + old.len();
    if all <= wanted {
        return Plan {
            create: wanted - all,
            delete: Vec::new(),
        };
    }
    let surplus = all - wanted;
    let mut delete = first_to_go(old, surplus.min(old.len()));
    delete.extend(first_to_go(new, surplus - delete.len()));
    Plan { create: 0, delete }
}

/// Old Machines that can go now without leaving too few nodes.
fn old_to_go(new: &[&View], old: &[&View], wanted: usize, unavailable: usize) -> Vec<String> {
    let least = wanted.saturating_sub(unavailable);
    let available = |machines: &[&View]| machines.iter().filter(|machine| machine.available).count();
    let coming = new.len().min(wanted) - available(new).min(wanted);
    let mut allowed = (new.len().min(wanted) + old.len()).saturating_sub(least + coming);
    // Those that are no use anyway go first.
    let (useful, useless): (Vec<&View>, Vec<&View>) =
        old.iter().copied().partition(|machine| machine.available);
    let mut names = first_to_go(&useless, allowed.min(useless.len()));
    allowed -= names.len();
    let spare = (available(new).min(wanted) + useful.len()).saturating_sub(least);
    names.extend(first_to_go(&useful, allowed.min(spare).min(useful.len())));
    names
}

/// The names of as many Machines: the chosen ones first, then those without a healthy node, then the newest.
fn first_to_go(machines: &[&View], count: usize) -> Vec<String> {
    let mut sorted = machines.to_vec();
    sorted.sort_by(|one, other| {
        let rank = |machine: &View| (!machine.chosen, machine.healthy);
        let age = |machine: &View| machine.created.as_ref().map(|created| created.0);
        rank(one)
            .cmp(&rank(other))
            .then_with(|| age(other).cmp(&age(one)))
            .then_with(|| other.name.cmp(&one.name))
    });
    sorted
        .into_iter()
        .take(count)
        .map(|machine| machine.name.clone())
        .collect()
}

#[cfg(test)]
mod tests;
