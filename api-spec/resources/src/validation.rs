use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results by category: `hardware`, `network`, `operators`, `platform` and the like.
pub type ValidationsInfo = BTreeMap<String, Vec<ValidationResult>>;

/// Result of one validation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationResult {
    /// Id of the validation, such as `has-min-memory`.
    pub id: String,
    /// Finding, as a sentence.
    pub message: String,
    /// `success`, `failure`, `pending`, `error` or `disabled`.
    pub status: String,
}
