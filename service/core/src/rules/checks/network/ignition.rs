//! Checks that the host can download the ignition of its cluster.

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::Verdict;

/// `ignition-downloadable`: only where hosts are added to a cluster.
pub(in crate::rules::checks) fn downloadable(context: &CheckContext<'_>) -> Verdict {
    let Some(bound) = context.bound() else {
        return Verdict::Hidden;
    };
    if context.host.data.has_bootstrap_ignition {
        return Verdict::success("The host has bootstrap data of its own; there is nothing to download");
    }
    let Some(answer) = &context.host.data.api_vip_connectivity else {
        return Verdict::Pending("Waits until the host has tried to download the cluster's ignition".into());
    };
    if answer.is_success {
        return Verdict::success("The host can download the cluster's ignition");
    }
    let from = if answer.url.is_empty() {
        format!("from the cluster {}", bound.data().name)
    } else {
        format!("from {}", answer.url)
    };
    let why = if answer.download_error.is_empty() {
        String::new()
    } else {
        format!(" ({})", answer.download_error)
    };
    Verdict::Failure(format!(
        "The host cannot download the ignition {from}{why}; check that it resolves the name, that no firewall is between (TCP ports 22623 and 22624), and the certificate"
    ))
}
