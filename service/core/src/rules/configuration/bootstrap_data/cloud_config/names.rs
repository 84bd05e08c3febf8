//! Host names: the service gives hosts theirs, so these keys may only repeat it.

use super::super::refused::Refused;
use super::super::subject::Subject;
use super::node::Members;

const ANOTHER: &str = "is another name than the host's; set the host's name at its Agent, and write {{ ds.meta_data.local_hostname }} here";

/// # Errors
/// A key that names the host otherwise.
pub(super) fn check(keys: &Members<'_>, subject: &Subject) -> Result<(), Refused> {
    let short = subject.hostname.split('.').next().unwrap_or_default();
    for key in ["hostname", "fqdn"] {
        let Some(node) = keys.get(key) else { continue };
        let name = node.line()?;
        if name != subject.hostname && (key == "fqdn" || name != short) {
            return Err(node.refuse(ANOTHER));
        }
    }
    // Nothing on the host would change the name.
    keys.flag("preserve_hostname").map(drop)
}
