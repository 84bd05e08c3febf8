//! The errors of the client as problems of a discovery.

use muster_api::bmc::{BmcBoot, BmcCheck, BmcFailure, BmcOutcome};
use muster_bmc::{AddressError, BmcError, CheckId, NetworkError, Outcome, Preflight};
use muster_core::lifecycle::bmc::Problem;

/// Turns an error into a problem; `otherwise`: the failure of the phase, unless the error is more specific.
pub(crate) fn problem(error: &BmcError, otherwise: BmcFailure) -> Problem {
    let failure = match error {
        BmcError::BadCredentials { .. } => BmcFailure::Credentials,
        BmcError::CertificateChanged { .. }
        | BmcError::CertificateUntrusted { .. }
        | BmcError::Certificates(_) => BmcFailure::Certificate,
        BmcError::Address(AddressError::Network(NetworkError::Unresolved { .. })) => BmcFailure::Unreachable,
        BmcError::Address(_) => BmcFailure::Address,
        // A fingerprint does not help with a certificate that cannot be used.
        BmcError::Unreachable { .. }
        | BmcError::NotRedfish(_)
        | BmcError::CertificateUnusable { .. }
        | BmcError::Tls { .. } => BmcFailure::Unreachable,
        BmcError::NoSystem(_) | BmcError::SeveralSystems(_) | BmcError::Unsupported(_) => BmcFailure::System,
        BmcError::NoMediaSlot(_) => BmcFailure::Media,
        BmcError::MediaUrl(_) => BmcFailure::Image,
        BmcError::Refused { .. }
        | BmcError::ForeignLink(_)
        | BmcError::TooLarge { .. }
        | BmcError::Deadline { .. }
        | BmcError::Busy(_) => otherwise,
    };
    Problem {
        failure,
        reason: error.to_string(),
        passing: error.is_passing(),
    }
}

/// The stored form of the checks.
pub(crate) fn checks(preflight: &Preflight) -> Vec<BmcCheck> {
    let checks = preflight.checks.iter().map(|check| BmcCheck {
        id: check.id.to_string(),
        outcome: match check.outcome {
            Outcome::Pass => BmcOutcome::Pass,
            Outcome::Fail => BmcOutcome::Fail,
            Outcome::Skipped => BmcOutcome::Skipped,
        },
        seen: check.seen.clone(),
        advice: check.advice.clone(),
    });
    checks.collect()
}

/// The first failed check that prevents this way of booting.
pub(crate) fn in_the_way(preflight: &Preflight, boot: BmcBoot) -> Option<Problem> {
    // UEFI loads the image without a slot.
    let matters = |id: CheckId| id != CheckId::Media || boot == BmcBoot::VirtualMedia;
    let first = preflight
        .checks
        .iter()
        .find(|check| check.outcome == Outcome::Fail)?;
    let check = preflight
        .checks
        .iter()
        .find(|check| check.outcome == Outcome::Fail && matters(check.id))?;
    let told = preflight.error.as_ref().filter(|_| check.id == first.id);
    let mut found = match told {
        Some(error) => problem(error, failure_of(check.id)),
        None => Problem {
            failure: failure_of(check.id),
            reason: check.seen.clone(),
            passing: false,
        },
    };
    if check.id == CheckId::Image {
        // It may be built or downloaded at this moment.
        found.passing = true;
    }
    if !check.advice.is_empty() && !found.reason.contains(&check.advice) {
        found.reason = format!("{}. {}", found.reason, check.advice);
    }
    Some(found)
}

fn failure_of(id: CheckId) -> BmcFailure {
    match id {
        CheckId::Address => BmcFailure::Unreachable,
        CheckId::Certificate => BmcFailure::Certificate,
        CheckId::Credentials => BmcFailure::Credentials,
        CheckId::System => BmcFailure::System,
        CheckId::Power => BmcFailure::Boot,
        CheckId::Media => BmcFailure::Media,
        CheckId::Image => BmcFailure::Image,
    }
}
