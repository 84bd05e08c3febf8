//! Checks the host's name.

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};
use crate::rules::hostname;

/// `hostname-valid`: a name is known and may be one. Without an inventory it fails, even with a name given by a user.
pub(in crate::rules::checks) fn valid(context: &CheckContext<'_>) -> Verdict {
    if context.inventory().is_none() {
        return Verdict::Failure("The host's name is known only with its inventory".into());
    }
    let name = hostname::effective(context.host).unwrap_or_default();
    let domain = context.bound().and_then(|bound| bound.data().domain());
    if hostname::is_of_cluster(name, domain.as_deref().unwrap_or_default()) {
        return Verdict::Failure(format!(
            "The name {name} is one of the cluster's API or services; give the host another one"
        ));
    }
    match hostname::check(name) {
        Ok(()) => Verdict::Success(format!("{name} is a valid host name")),
        Err(why) => Verdict::Failure(why),
    }
}

/// `hostname-unique`: no other host of the cluster has it, among those that have reported an inventory.
pub(in crate::rules::checks) fn unique(context: &CheckContext<'_>) -> Verdict {
    let Some(bound) = context.bound() else {
        return Verdict::Hidden;
    };
    if context.inventory().is_none() {
        return no_inventory();
    }
    let name = hostname::effective(context.host).unwrap_or_default();
    match bound.peers.with_hostname(name).next() {
        None => Verdict::Success(format!("No other host of the cluster is called {name}")),
        Some(duplicate) => Verdict::Failure(format!(
            "The host {} of the cluster is called {name}, too; give one of them another name",
            duplicate.id
        )),
    }
}
