//! Checks latency and packet loss: here only a limit that is not set is shown, since hosts are added to clusters that
//! exist; [`crate::rules::findings`] reports slow and lossy links. Source: docs/protocol/hardware-requirements.md#4.

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};
use crate::rules::requirements::RoleRequirements;

/// `sufficient-network-latency-requirement-for-role`.
pub(in crate::rules::checks) fn latency(context: &CheckContext<'_>) -> Verdict {
    measured(context, "latency", |row| row.network_latency_threshold_ms)
}

/// `sufficient-packet-loss-requirement-for-role`.
pub(in crate::rules::checks) fn packet_loss(context: &CheckContext<'_>) -> Verdict {
    measured(context, "packet loss", |row| row.packet_loss_percentage)
}

fn measured(
    context: &CheckContext<'_>,
    name: &str,
    threshold: fn(&RoleRequirements) -> Option<f64>,
) -> Verdict {
    if context.inventory().is_none() {
        return no_inventory();
    }
    if context.bound().is_none() {
        return Verdict::Hidden;
    }
    Verdict::Success(match threshold(&context.required().role) {
        None => format!("No limit of {name} is set for the role {}", context.role().name()),
        Some(_) => format!("The cluster exists; too much {name} is among the host's findings"),
    })
}
