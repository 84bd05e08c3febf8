//! Stores a text of user interfaces about a cluster.

use muster_api::time::Timestamp;

use crate::record::Cluster;
use crate::rules::input::Invalid;

/// Most bytes that are kept.
const MOST: usize = 64 << 10;

/// `cluster` with this text; `None` when it has it already.
///
/// # Errors
/// A text that is too long, or one that databases do not take.
pub fn set(cluster: &Cluster, text: &str, now: Timestamp) -> Result<Option<Cluster>, Invalid> {
    if text.len() > MOST {
        return Err(Invalid::new(
            "ui-settings",
            format!(
                "{} bytes, and at most {MOST} are kept; keep the rest in the client",
                text.len()
            ),
        ));
    }
    if text.contains('\0') {
        return Err(Invalid::new("ui-settings", "may not hold NUL characters"));
    }
    if cluster.data.ui_settings == text {
        return Ok(None);
    }
    let mut next = cluster.clone();
    text.clone_into(&mut next.data.ui_settings);
    next.updated_at = now;
    Ok(Some(next))
}
