//! The host's name.

use super::{Look, Verdict};
use crate::host::hostname;

/// `hostname-valid`: a name is known and may be one. Without an inventory it fails, even with a name given by a user.
pub(super) fn valid(look: &Look<'_>) -> Verdict {
    if look.inventory().is_none() {
        return Verdict::Failure("The host's name is known only with its inventory".into());
    }
    let name = hostname::effective(look.host).unwrap_or_default();
    match hostname::check(name) {
        Ok(()) => Verdict::Success(format!("{name} is a valid host name")),
        Err(why) => Verdict::Failure(why),
    }
}
