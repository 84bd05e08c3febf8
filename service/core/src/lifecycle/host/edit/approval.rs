//! Approval of a host by an administrator. Source: docs/protocol/kube-controllers.md#4 (`spec.approved`).

use muster_api::time::Timestamp;

use crate::lifecycle::host::events;
use crate::lifecycle::host::step::Rejection;
use crate::record::{Host, NewEvent};
use crate::rules::facts::HostFacts;
use crate::rules::findings::SMALLER_THAN_APPROVED;
use crate::rules::hardware;

/// Stores the approval, and the size of the machine's hardware, with which later inventories are compared. An installation begins only
/// with it; its withdrawal later stops nothing.
///
/// # Errors
/// For hosts without an Agent, which need no approval.
pub(in crate::lifecycle::host) fn set(
    host: &mut Host,
    approved: bool,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    if facts.infra_env.kube.is_none() {
        return Err(Rejection::conflict(
            "only hosts of an InfraEnv custom resource are approved; this one was made by REST",
        ));
    }
    if host.data.approved != approved {
        host.data.approved = approved;
        let inventory = host.inventory.as_deref().filter(|_| approved);
        host.data.approved_size = inventory.and_then(hardware::size);
        if !approved {
            host.data.set_finding(SMALLER_THAN_APPROVED, None);
        }
        events.push(events::host_approved_updated(host, now));
    }
    Ok(())
}
