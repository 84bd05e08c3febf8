//! Entity tags, and the effect of `If-Match` (docs/protocol/redfish.md#2.7).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use crate::problem::Problem;
use crate::quirks::ETags;

/// The tag of a resource as it is sent; `None` if this BMC has none.
pub(crate) fn tag(resource: &Value, quirk: ETags) -> Option<String> {
    let weak = if quirk.weak { "W/" } else { "" };
    (!quirk.absent).then(|| format!("{weak}{}", strong(resource)))
}

/// Refuses a `PATCH` of that resource.
pub(crate) fn check_patch(resource: &Value, if_match: Option<&str>, quirk: ETags) -> Result<(), Problem> {
    if quirk.absent {
        return Ok(());
    }
    let is_right = match if_match {
        None if quirk.required => {
            let message = "The request requires an If-Match header.";
            return Err(Problem::new(428, "PreconditionRequired", message));
        }
        None => true,
        Some(_) if quirk.refused => false,
        Some("*") => true,
        Some(_) if quirk.only_star => false,
        Some(given) => given == strong(resource),
    };
    if is_right { Ok(()) } else { Err(failed()) }
}

/// Refuses the `POST` of an action.
pub(crate) fn check_action(if_match: Option<&str>, quirk: ETags) -> Result<(), Problem> {
    if quirk.refused_on_actions && if_match.is_some() {
        return Err(failed());
    }
    Ok(())
}

fn failed() -> Problem {
    let message = "The ETag supplied did not match the ETag required to change this resource.";
    Problem::new(412, "PreconditionFailed", message)
}

fn strong(resource: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    resource.to_string().hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
