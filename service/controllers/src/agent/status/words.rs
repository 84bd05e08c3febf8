//! Words the messages of an Agent's conditions about what a host still needs.

use muster_api::validation::ValidationStatus;
use muster_controller::conditions::Synced;
use muster_core::record::{CheckId, Host, HostState};
use muster_core::rules::checks;

/// The message for a host that is fit and approved about what it still needs. The protocol calls it ready in any case.
pub(super) fn ready(state: &HostState, synced: &Synced) -> &'static str {
    match (state, synced) {
        (_, Synced::Input(_) | Synced::Backend(_)) => {
            "The host is fit and approved; it is not installed before its spec is followed: see SpecSynced"
        }
        (HostState::KnownUnbound, Synced::Ok(_)) => {
            "The host is fit and approved; it is installed once a cluster has it: set spec.clusterDeploymentName"
        }
        (_, Synced::Ok(_)) => "The host may be installed",
    }
}

/// The message about the checks that keep the host from being fit. Differs if none of them fails but all wait for a result.
pub(super) fn not_passed(host: &Host, failed: &[CheckId]) -> String {
    let outcomes = &host.data.validations;
    let waits = |check: &CheckId| {
        checks::find(outcomes, *check).is_none_or(|row| row.status == ValidationStatus::Pending)
    };
    let begins = if failed.iter().all(waits) {
        "Checks of the host have no result yet"
    } else {
        "Checks of the host fail"
    };
    format!("{begins}: {}", checks::summary(outcomes, failed))
}
