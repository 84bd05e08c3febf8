//! `validations_info` of a host: a JSON text of category to results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ValidationStatus {
    Success,
    Failure,
    Pending,
    Error,
    Disabled,
}

/// One check's outcome, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ValidationResult {
    pub id: String,
    pub status: ValidationStatus,
    pub message: String,
}

/// By category (`hardware`, `network`, `operators`), each in the order of the table.
pub type ValidationsInfo = BTreeMap<String, Vec<ValidationResult>>;
