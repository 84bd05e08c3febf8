//! Reads the results of a host's checks.

use muster_api::host::Host;
use muster_api::validation::{ValidationResult, ValidationStatus, ValidationsInfo};

/// The results, by outcome.
#[derive(Debug, Default)]
pub struct Checks {
    /// Number of passed checks.
    pub passed: usize,
    /// Messages of failed checks.
    pub failed: Vec<String>,
    /// Messages of pending checks.
    pub waiting: Vec<String>,
}

/// Reads them.
pub fn checks(host: &Host) -> Checks {
    let by_category: ValidationsInfo = serde_json::from_str(&host.validations_info).unwrap_or_default();
    let mut checks = Checks::default();
    for result in by_category.into_values().flatten() {
        let sentence = |result: &ValidationResult| format!("{} ({})", result.message, result.id);
        match result.status {
            ValidationStatus::Success => checks.passed += 1,
            ValidationStatus::Failure | ValidationStatus::Error => checks.failed.push(sentence(&result)),
            ValidationStatus::Pending => checks.waiting.push(sentence(&result)),
            ValidationStatus::Disabled => {}
        }
    }
    checks
}
