//! Checks that concern only clusters that are being installed. Hosts are added to clusters that exist, so the outcomes
//! are the same for all such hosts, and are hidden for hosts that belong to no cluster.

use super::context::CheckContext;
use super::verdict::Verdict;

fn in_a_cluster(context: &CheckContext<'_>, text: &str) -> Verdict {
    match context.bound() {
        Some(_) => Verdict::success(text),
        None => Verdict::Hidden,
    }
}

/// `<operator>-requirements-satisfied`.
pub(super) fn operator(context: &CheckContext<'_>) -> Verdict {
    in_a_cluster(
        context,
        "Skipped, because hosts are added to a cluster that exists",
    )
}

/// `machine-cidr-defined`.
pub(super) fn machine_network_defined(context: &CheckContext<'_>) -> Verdict {
    in_a_cluster(
        context,
        "The cluster exists, so its machine network need not be given",
    )
}

/// `belongs-to-machine-cidr`.
pub(super) fn belongs_to_machine_network(context: &CheckContext<'_>) -> Verdict {
    in_a_cluster(
        context,
        "The cluster exists, so hosts may join it from any network",
    )
}

/// `belongs-to-majority-group`.
pub(super) fn belongs_to_majority(context: &CheckContext<'_>) -> Verdict {
    in_a_cluster(
        context,
        "The cluster exists, so its new hosts need not all reach each other",
    )
}

/// `mtu-valid`; links with too small an MTU are found by [`crate::findings`].
pub(super) fn mtu_valid(context: &CheckContext<'_>) -> Verdict {
    match context.bound() {
        Some(bound) if !bound.is_single_node() => {
            Verdict::success("The cluster exists; links that are too narrow are among the host's findings")
        }
        Some(_) | None => Verdict::Hidden,
    }
}

/// `dns-wildcard-not-configured`.
pub(super) fn no_wildcard(context: &CheckContext<'_>) -> Verdict {
    in_a_cluster(context, "The cluster exists, so its DNS is as it should be")
}

/// `no-ip-collisions-in-network`; addresses in use by two machines are found by [`crate::findings`].
pub(super) fn no_ip_collisions(_: &CheckContext<'_>) -> Verdict {
    Verdict::success("No address of the host is known to be used twice")
}

/// `no-iscsi-nic-belongs-to-machine-cidr`.
pub(super) fn no_iscsi_nic_in_machine_network(_: &CheckContext<'_>) -> Verdict {
    Verdict::Hidden
}
