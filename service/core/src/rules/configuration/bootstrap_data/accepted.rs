//! Ignition's objections to a config, as a refusal.

use super::refused::Refused;
use crate::rules::ignition_spec as spec;

/// Validates `text` by Ignition's own rules.
///
/// # Errors
/// The first objection, with the number of the others.
pub(super) fn accepted(text: &str) -> Result<(), Refused> {
    let Err(problems) = spec::parse(text) else {
        return Ok(());
    };
    let others = match problems.len() {
        0 | 1 => String::new(),
        len => format!(" (and {} more)", len - 1),
    };
    let Some(first) = problems.into_iter().next() else {
        return Err(Refused::new("value", "is not what Ignition takes"));
    };
    let member = if first.path.is_empty() {
        "value".to_owned()
    } else {
        first.path
    };
    Err(Refused::new(member, format!("{}{others}", first.why)))
}
