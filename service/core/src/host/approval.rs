//! Whether an administrator wants the host. Source: docs/protocol/kube-controllers.md#4 (`spec.approved`).

use muster_api::time::Timestamp;

use super::step::{RefusalClass, Refused};
use super::{Host, HostEvent, HostFacts, news};
use crate::event::NewEvent;

/// Remembers the approval. It is asked for before an installation begins, and taking it back later stops nothing.
///
/// # Errors
/// For hosts that have no Agent: nothing asks for their approval.
pub(super) fn set(
    host: &mut Host,
    event: &HostEvent,
    approved: bool,
    facts: &HostFacts<'_>,
    now: Timestamp,
    told: &mut Vec<NewEvent>,
) -> Result<(), Refused> {
    if !facts.kube {
        let why = "only hosts of an InfraEnv custom resource are approved; this one was made by REST";
        return Err(Refused::by_state(host, event, RefusalClass::UserConflict, why));
    }
    if host.data.approved != approved {
        host.data.approved = approved;
        told.push(news::host_approved_updated(host, now));
    }
    Ok(())
}
