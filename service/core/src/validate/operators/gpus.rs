//! Operators that load drivers which no vendor's key has signed.

use super::Case;
use crate::validate::{Verdict, no_inventory};

/// Secure Boot refuses such drivers. `vendor`: only hosts with a GPU of this vendor load one; `None`: all do.
pub(super) fn needs_unsigned_driver(case: &Case<'_, '_>, vendor: Option<&str>) -> Verdict {
    let Some(inventory) = case.view.inventory() else {
        return no_inventory();
    };
    let loads = vendor.is_none_or(|vendor| {
        let has = |id: &str| id.trim_start_matches("0x").eq_ignore_ascii_case(vendor);
        inventory.gpus.iter().any(|gpu| has(&gpu.vendor_id))
    });
    let secure = inventory
        .boot
        .as_ref()
        .is_some_and(|boot| boot.secure_boot_state == "Enabled");
    if loads && secure {
        Verdict::Failure(format!(
            "{} loads drivers that Secure Boot refuses; switch Secure Boot off in the firmware",
            case.operator.name()
        ))
    } else {
        case.satisfied()
    }
}
