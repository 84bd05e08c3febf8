//! Decides which Machines a NodePool creates, deletes and upgrades in place, like Cluster API for a MachineDeployment (a MachineSet, for
//! InPlace).
//! Source: Cluster API v1.11, internal/controllers/machinedeployment/rolling, machineset/machineset_delete_policy.go.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use muster_resources::Time;
use muster_resources::hypershift::{Management, UpgradeStrategy, UpgradeType};

/// The properties of a Machine on which the plan depends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    pub name: String,
    /// True if the Machine is being deleted.
    pub deleting: bool,
    /// True if it is made from the pool's present settings.
    pub up_to_date: bool,
    /// True if it has a Node that is ready.
    pub available: bool,
    /// True if it has a Node, and no problems are known.
    pub healthy: bool,
    /// True if a user chose it to be deleted first.
    pub chosen: bool,
    /// True if it has, or had, a Node: its host was installed.
    pub installed: bool,
    /// The upgrade in place of its node that has not ended well; `None`: there is none.
    pub upgrade: Option<Upgrade>,
    pub created: Option<Time>,
}

/// An upgrade in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgrade {
    /// It is going on.
    Running,
    /// It failed. `is_present`: it was one to the pool's present settings.
    Failed { is_present: bool },
}

/// The limits within which the pool may change Machines that are not up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rolling {
    /// Machines are added and deleted within these limits.
    Limits { surge: usize, unavailable: usize },
    /// A user deletes Machines; they are replaced then.
    OnDelete,
    /// Machines stay, and their nodes are upgraded, so many at a time (at least one).
    InPlace { unavailable: usize },
}

/// The next steps. Empty: the pool waits for Machines, or has reached its desired state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Number of Machines to create.
    pub create: usize,
    /// Names of Machines to delete.
    pub delete: Vec<String>,
    /// Names of Machines whose nodes are upgraded in place.
    pub upgrade: Vec<String>,
}

/// Returns the limits for a pool of this size.
pub fn rolling(management: &Management, wanted: usize) -> Rolling {
    if management.upgrade_type == UpgradeType::InPlace {
        let in_place = management.in_place.clone().unwrap_or_default();
        let unavailable = number(in_place.max_unavailable.as_ref(), 1, wanted, |all, part| {
            all / part
        });
        // With none, nothing could ever change.
        return Rolling::InPlace {
            unavailable: unavailable.max(1),
        };
    }
    let replace = management.replace.clone().unwrap_or_default();
    if replace.strategy == UpgradeStrategy::OnDelete {
        return Rolling::OnDelete;
    }
    let update = replace.rolling_update.unwrap_or_default();
    let surge = number(update.max_surge.as_ref(), 1, wanted, usize::div_ceil);
    let unavailable = number(update.max_unavailable.as_ref(), 0, wanted, |all, part| all / part);
    // With both at zero, nothing could ever change.
    let unavailable = if surge == 0 {
        unavailable.max(1)
    } else {
        unavailable
    };
    Rolling::Limits { surge, unavailable }
}

/// Resolves a number of Machines, or a percentage of all.
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

/// Returns the steps for all Machines of the pool.
pub fn plan(machines: &[View], wanted: usize, rolling: Rolling) -> Plan {
    let is_in_place = matches!(rolling, Rolling::InPlace { .. });
    let current = |machine: &&View| machine.up_to_date || is_in_place;
    let alive = || machines.iter().filter(|machine| !machine.deleting);
    let new: Vec<&View> = alive().filter(current).collect();
    let old: Vec<&View> = alive().filter(|machine| !current(machine)).collect();
    let Rolling::Limits { surge, unavailable } = rolling else {
        let mut plan = without_limits(&new, &old, wanted);
        if let Rolling::InPlace { unavailable } = rolling {
            plan.upgrade = to_upgrade(machines, &plan.delete, wanted, unavailable);
        }
        return plan;
    };
    let mut plan = Plan::default();
    let is_rolling = machines.iter().any(|machine| !machine.up_to_date);
    if new.len() > wanted {
        plan.delete = first_to_go(&new, new.len() - wanted);
    } else if !is_rolling {
        plan.create = wanted - new.len();
    } else {
        // Machines that are being deleted still have their hosts, which their successors may need.
        let room = (wanted + surge).saturating_sub(machines.len());
        plan.create = room.min(wanted - new.len());
    }
    plan.delete.extend(old_to_go(&new, &old, wanted, unavailable));
    plan
}

/// The plan without limits: old Machines stay until a user deletes them, or the pool is too large.
fn without_limits(new: &[&View], old: &[&View], wanted: usize) -> Plan {
    let all = new.len() + old.len();
    if all <= wanted {
        return Plan {
            create: wanted - all,
            ..Plan::default()
        };
    }
    let surplus = all - wanted;
    let mut delete = first_to_go(old, surplus.min(old.len()));
    delete.extend(first_to_go(new, surplus - delete.len()));
    Plan {
        delete,
        ..Plan::default()
    }
}

/// Machines whose nodes are upgraded in place from now on: those that are down first, then the oldest. Those with an upgrade that is going
/// on are counted, not named; one that failed ends the roll-out until it is gone, or the pool is changed again.
fn to_upgrade(machines: &[View], deleted: &[String], wanted: usize, unavailable: usize) -> Vec<String> {
    let stays = |machine: &&View| !machine.deleting && !deleted.contains(&machine.name);
    let staying: Vec<&View> = machines.iter().filter(stays).collect();
    let has_stopped = |machine: &&View| machine.upgrade == Some(Upgrade::Failed { is_present: true });
    if staying.iter().any(has_stopped) {
        return Vec::new();
    }
    let is_running = |machine: &View| machine.upgrade == Some(Upgrade::Running);
    // The Node of a host that failed counts as ready until its kubelet counts as silent.
    let is_up = |machine: &View| machine.available && machine.upgrade.is_none();
    let nodes = staying.iter().filter(|machine| machine.installed).count();
    let down = staying
        .iter()
        .filter(|machine| machine.installed && !is_up(machine))
        .count();
    // Nodes on their way out whose successors are not there yet.
    let leaving = machines.iter().filter(|machine| machine.deleting).count();
    let replaced = leaving.min(wanted.saturating_sub(nodes));
    let running = staying.iter().filter(|machine| is_running(machine)).count();
    let mut at_once = unavailable.saturating_sub(running);
    // A node that is down for another reason counts, too; a Machine that never had one does not, for it may wait for a host forever.
    let mut may_go_down = unavailable.saturating_sub(down + replaced);
    let mut old: Vec<&View> = staying
        .into_iter()
        .filter(|machine| !machine.up_to_date && machine.installed && !is_running(machine))
        .collect();
    old.sort_by(|one, other| {
        let age = |machine: &View| machine.created.as_ref().map(|created| created.0);
        is_up(one)
            .cmp(&is_up(other))
            .then_with(|| age(one).cmp(&age(other)))
            .then_with(|| one.name.cmp(&other.name))
    });
    let mut names = Vec::new();
    for machine in old {
        if at_once == 0 || (is_up(machine) && may_go_down == 0) {
            break;
        }
        at_once -= 1;
        may_go_down -= usize::from(is_up(machine));
        names.push(machine.name.clone());
    }
    names
}

/// Old Machines that can be deleted now without leaving too few nodes.
fn old_to_go(new: &[&View], old: &[&View], wanted: usize, unavailable: usize) -> Vec<String> {
    let least = wanted.saturating_sub(unavailable);
    let available = |machines: &[&View]| machines.iter().filter(|machine| machine.available).count();
    let coming = new.len().min(wanted) - available(new).min(wanted);
    let mut allowed = (new.len().min(wanted) + old.len()).saturating_sub(least + coming);
    // Machines without a ready node are deleted first.
    let (useful, useless): (Vec<&View>, Vec<&View>) =
        old.iter().copied().partition(|machine| machine.available);
    let mut names = first_to_go(&useless, allowed.min(useless.len()));
    allowed -= names.len();
    let spare = (available(new).min(wanted) + useful.len()).saturating_sub(least);
    names.extend(first_to_go(&useful, allowed.min(spare).min(useful.len())));
    names
}

/// The names of this number of Machines: the chosen ones first, then those without a healthy node, then the newest.
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
