//! Operators that need processors and memory for themselves.

use muster_api::host::HostRole;
use muster_api::inventory::Inventory;

use super::needs::need_of;
use super::{Case, Operator, disks};
use crate::validate::capacity::binary_size;
use crate::validate::{Verdict, no_inventory};

const MIB: i64 = 1 << 20;

/// As many processors and as much usable memory as the operator needs.
pub(super) fn enough(case: &Case<'_, '_>) -> Verdict {
    let Some(inventory) = case.view.inventory() else {
        return no_inventory();
    };
    verdict(case, shortfalls(case, inventory))
}

/// Virtual machines: also a processor that can run them, and on a single node a disk for theirs.
pub(super) fn cnv(case: &Case<'_, '_>) -> Verdict {
    let Some(inventory) = case.view.inventory() else {
        return no_inventory();
    };
    if case.view.role() == HostRole::AutoAssign {
        return Verdict::Failure("Virtualization needs to know the host's role; give it one".into());
    }
    let mut reasons = Vec::new();
    let runs_machines = inventory.cpu.as_ref().is_some_and(|cpu| {
        cpu.architecture == "aarch64" || cpu.flags.iter().any(|flag| flag == "vmx" || flag == "svm")
    });
    if !runs_machines {
        reasons.push(
            "The processor cannot run virtual machines; switch virtualization on in the firmware".into(),
        );
    }
    if case.bound.is_single_node() && !disks::has_spare(case, disks::HOSTPATH_BYTES) {
        reasons.push("On a single node a second disk of more than 50 GiB is needed; add one".into());
    }
    reasons.extend(shortfalls(case, inventory));
    verdict(case, reasons)
}

fn verdict(case: &Case<'_, '_>, reasons: Vec<String>) -> Verdict {
    if reasons.is_empty() {
        case.satisfied()
    } else {
        Verdict::Failure(reasons.join("\n"))
    }
}

fn shortfalls(case: &Case<'_, '_>, inventory: &Inventory) -> Vec<String> {
    let need = need_of(case.operator, case.view, &case.bound);
    let name = match case.operator {
        Operator::OpenshiftAi => "OpenShift AI",
        other => other.name(),
    };
    let mut reasons = Vec::new();
    let cores = inventory.cpu.as_ref().map_or(0, |cpu| cpu.count);
    if cores < need.cpu_cores {
        reasons.push(format!(
            "{name} needs {} CPU cores and the host has {cores}; give it more",
            need.cpu_cores
        ));
    }
    let usable = inventory.memory.as_ref().map_or(0, |memory| memory.usable_bytes);
    let wanted = need.ram_mib.saturating_mul(MIB);
    if usable < wanted {
        reasons.push(format!(
            "{name} needs {} of memory and {} of the host's can be used; give it more",
            binary_size(wanted),
            binary_size(usable)
        ));
    }
    reasons
}
