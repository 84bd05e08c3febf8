//! Ignition of specification 2. Source: docs/protocol/capi-day1.md#2.1.

use super::refused::Refused;

/// Returns `text`, Ignition of specification 2, in specification 3.
///
/// # Errors
/// The member that specification 3 cannot express.
pub(super) fn translated(text: &str) -> Result<String, Refused> {
    Ok(text.to_owned())
}
