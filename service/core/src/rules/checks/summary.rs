//! Summarizes in one text why a host is not fit: causes before consequences, failures before waits.

use muster_api::validation::{ValidationResult, ValidationStatus, ValidationsInfo};

use super::evaluate::find;
use crate::record::CheckId;

/// Separates two messages, which hold commas and semicolons of their own. Source: docs/protocol/host-lifecycle.md#2.
const BETWEEN: &str = " ; ";

/// The messages of the `failed` checks. A check that has to wait until another of them passes is left out.
pub fn summary(info: &ValidationsInfo, failed: &[CheckId]) -> String {
    let mut rows: Vec<&ValidationResult> = failed
        .iter()
        .filter_map(|check| Some((*check, find(info, *check)?)))
        .filter(|(check, row)| {
            !is_waiting(row) || !cause_of(*check).is_some_and(|cause| failed.contains(&cause))
        })
        .map(|(_, row)| row)
        .collect();
    // Stable: the order of the checks has causes before consequences.
    rows.sort_by_key(|row| is_waiting(row));
    let mut messages: Vec<&str> = Vec::new();
    for row in rows {
        if !messages.contains(&row.message.as_str()) {
            messages.push(&row.message);
        }
    }
    messages.join(BETWEEN)
}

fn is_waiting(row: &ValidationResult) -> bool {
    row.status == ValidationStatus::Pending
}

/// The check with the facts that are needed to decide this one.
fn cause_of(check: CheckId) -> Option<CheckId> {
    match check {
        CheckId::ApiDomainNameResolvedCorrectly
        | CheckId::ApiIntDomainNameResolvedCorrectly
        | CheckId::AppsDomainNameResolvedCorrectly => Some(CheckId::IgnitionDownloadable),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(check: CheckId, status: ValidationStatus, message: &str) -> ValidationResult {
        ValidationResult {
            id: check.id().to_owned(),
            status,
            message: message.to_owned(),
        }
    }

    #[test]
    fn causes_come_first_and_what_only_follows_from_them_is_left_out() {
        use CheckId as C;
        use ValidationStatus::{Failure, Pending};
        let rows = vec![
            row(C::HasMemoryForRole, Pending, "Waits for the host's inventory"),
            row(C::HasCpuCoresForRole, Pending, "Waits for the host's inventory"),
            row(C::IgnitionDownloadable, Failure, "The ignition, no"),
            row(C::NtpSynced, Failure, "A clock"),
            row(C::ApiDomainNameResolvedCorrectly, Pending, "api waits"),
            row(C::ApiIntDomainNameResolvedCorrectly, Pending, "api-int waits"),
            row(C::AppsDomainNameResolvedCorrectly, Failure, "*.apps is not known"),
        ];
        let failed: Vec<C> = C::ALL
            .iter()
            .copied()
            .filter(|check| rows.iter().any(|row| row.id == check.id()))
            .collect();
        let info = ValidationsInfo::from([("all".to_owned(), rows)]);
        assert_eq!(
            summary(&info, &failed),
            "The ignition, no ; A clock ; *.apps is not known ; Waits for the host's inventory"
        );
        // With the cause passed or ignored, it is no reason.
        assert_eq!(summary(&info, &[C::ApiDomainNameResolvedCorrectly]), "api waits");
    }
}
