//! Checks processors and memory. Numbers and tolerances: docs/protocol/hardware-requirements.md#3 and §4.

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};

const MIB: i64 = 1 << 20;
/// Memory that firmware keeps for itself, MiB.
const TOLERANCE_MIB: i64 = 100;

/// `has-min-cpu-cores`: enough for some role.
pub(in crate::rules::checks) fn min_cpu_cores(context: &CheckContext<'_>) -> Verdict {
    cores(context, context.required().any_role.cpu_cores, "for any role")
}

/// `has-cpu-cores-for-role`: enough for the role it would have.
pub(in crate::rules::checks) fn cpu_cores_for_role(context: &CheckContext<'_>) -> Verdict {
    cores(context, context.required().role.cpu_cores, &for_role(context))
}

/// `has-min-memory`: enough for some role, less what firmware keeps, and 2 % more tolerance where the size comes from the kernel alone.
pub(in crate::rules::checks) fn min_memory(context: &CheckContext<'_>) -> Verdict {
    let required = context.required().any_role.ram_mib;
    let from_kernel = context
        .inventory()
        .and_then(|inventory| inventory.memory.as_ref())
        .is_some_and(|memory| memory.physical_bytes_method == "meminfo");
    let tolerance = TOLERANCE_MIB + if from_kernel { required / 50 } else { 0 };
    memory(context, required, tolerance, "for any role")
}

/// `has-memory-for-role`: enough for the role it would have.
pub(in crate::rules::checks) fn memory_for_role(context: &CheckContext<'_>) -> Verdict {
    memory(
        context,
        context.required().role.ram_mib,
        TOLERANCE_MIB,
        &for_role(context),
    )
}

fn for_role(context: &CheckContext<'_>) -> String {
    format!("for the role {}", context.role().name())
}

fn cores(context: &CheckContext<'_>, required: i64, what_for: &str) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    let found = inventory.cpu.as_ref().map_or(0, |cpu| cpu.count);
    if found >= required {
        Verdict::Success(format!("{found} CPU cores are enough {what_for}"))
    } else {
        Verdict::Failure(format!(
            "{required} CPU cores are required {what_for}, and the host has {found}; give it more or use another machine"
        ))
    }
}

fn memory(context: &CheckContext<'_>, required_mib: i64, tolerance_mib: i64, what_for: &str) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    let found = inventory
        .memory
        .as_ref()
        .map_or(0, |memory| memory.physical_bytes);
    let found_text = binary_size(found);
    if found >= required_mib.saturating_sub(tolerance_mib).saturating_mul(MIB) {
        Verdict::Success(format!("{found_text} of memory are enough {what_for}"))
    } else {
        Verdict::Failure(format!(
            "{} of memory are required {what_for}, and the host has {found_text}; give it more or use another machine",
            binary_size(required_mib.saturating_mul(MIB))
        ))
    }
}

/// `7.50 GiB`.
pub(super) fn binary_size(bytes: i64) -> String {
    const GIB: i64 = 1 << 30;
    // Two decimals are shown; a float holds far more.
    #[expect(clippy::cast_precision_loss, reason = "only for show")]
    let of = |unit: i64| bytes as f64 / unit as f64;
    if bytes >= GIB {
        format!("{:.2} GiB", of(GIB))
    } else {
        format!("{:.2} MiB", of(MIB))
    }
}
