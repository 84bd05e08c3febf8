//! Evaluates all checks of a host, and reads their stored outcomes.

use muster_api::time::Timestamp;
use muster_api::validation::{ValidationResult, ValidationStatus, ValidationsInfo};

use super::context::CheckContext;
use super::table::{OPERATORS, Shown, rule_of};
use super::verdict::{Verdict, passes};
use crate::record::{CheckId, Host};
use crate::rules::facts::HostFacts;
use crate::rules::stages;

/// All checks of `host`, as they are stored and shown. Cheap enough to be called for every change of a host.
///
/// An installed host keeps the outcomes of its last evaluation: call this only in states that are refreshed.
pub fn evaluate(host: &Host, facts: &HostFacts<'_>, now: Timestamp) -> ValidationsInfo {
    let context = CheckContext::new(host, facts, now);
    let mut info = ValidationsInfo::new();
    for check in CheckId::ALL {
        let (status, message) = match check.verdict(&context) {
            Verdict::Success(message) => (ValidationStatus::Success, message),
            Verdict::Failure(message) => (ValidationStatus::Failure, message),
            Verdict::Pending(message) => (ValidationStatus::Pending, message),
            Verdict::Error(message) => (ValidationStatus::Error, message),
            Verdict::Disabled(message) => (ValidationStatus::Disabled, message),
            Verdict::Hidden => continue,
        };
        let row = ValidationResult {
            id: check.id().to_owned(),
            status,
            message,
        };
        match info.get_mut(check.category()) {
            Some(rows) => rows.push(row),
            None => {
                info.insert(check.category().to_owned(), vec![row]);
            }
        }
    }
    info
}

/// The stored outcome of a check; `None` when it is hidden or was never evaluated.
pub fn find(info: &ValidationsInfo, check: CheckId) -> Option<&ValidationResult> {
    find_by_id(info, check.id())
}

/// As [`find`], by the name on the wire.
pub(crate) fn find_by_id<'a>(info: &'a ValidationsInfo, id: &str) -> Option<&'a ValidationResult> {
    info.values().flatten().find(|row| row.id == id)
}

/// True when a check passed or is hidden. Where a cluster's users ignore some, see [`Conditions`](super::Conditions).
pub fn holds(info: &ValidationsInfo, check: CheckId) -> bool {
    find(info, check).is_none_or(|row| passes(row.status))
}

impl CheckId {
    /// The outcome of this check.
    pub fn verdict(self, context: &CheckContext<'_>) -> Verdict {
        let rule = rule_of(self);
        let is_over = match rule.shown {
            Shown::Always => false,
            Shown::UntilReboot => context.stage().is_some_and(stages::is_late),
            Shown::BeforeInstallation => context.stage().is_some(),
        };
        if is_over {
            return Verdict::Hidden;
        }
        match (rule.verdict)(context) {
            Verdict::Hidden => Verdict::Hidden,
            _ if self.is_disabled(context) => Verdict::Disabled(
                "Switched off in the settings of this service, so it counts as passed".into(),
            ),
            verdict => verdict,
        }
    }

    /// The service's list applies only where the cluster ignores no check itself, and never to operators.
    fn is_disabled(self, context: &CheckContext<'_>) -> bool {
        context.facts.requirements.disabled_checks.contains(&self)
            && self.category() != OPERATORS
            && context
                .bound()
                .is_none_or(|bound| bound.data().ignored_host_validations.is_empty())
    }
}
