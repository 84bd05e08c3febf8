//! Checks that the inventory is there and complete.

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};

/// `has-inventory`.
pub(in crate::rules::checks) fn has_inventory(context: &CheckContext<'_>) -> Verdict {
    if context.inventory().is_some() {
        Verdict::Success("The inventory has been received".into())
    } else {
        Verdict::Failure("No inventory has been received yet".into())
    }
}

/// `inventory-not-partially-truncated`: a warning only.
pub(in crate::rules::checks) fn not_partially_truncated(context: &CheckContext<'_>) -> Verdict {
    truncation(context, "partial")
}

/// `inventory-not-fully-truncated`: an inventory without contents is no basis for a decision.
pub(in crate::rules::checks) fn not_fully_truncated(context: &CheckContext<'_>) -> Verdict {
    truncation(context, "full")
}

fn truncation(context: &CheckContext<'_>, unwanted: &str) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    let Some(truncation) = &inventory.truncation else {
        return Verdict::Success("The inventory is complete".into());
    };
    let kind = truncation.kind.as_str();
    match kind {
        "" => Verdict::Success("The inventory is complete".into()),
        "partial" | "full" if kind != unwanted => {
            Verdict::Success(format!("The inventory is not of the kind {unwanted}ly truncated"))
        }
        "partial" | "full" => Verdict::Failure(format!(
            "The agent had to leave out parts of the inventory ({kind}): {}",
            truncation.reasons.join("; ")
        )),
        other => Verdict::Error(format!(
            "The agent left out parts of the inventory in a way that this service does not know ({other}); boot the host from the present image"
        )),
    }
}
