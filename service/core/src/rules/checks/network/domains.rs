//! Checks that the host resolves the cluster's names.

use muster_api::steps::{DomainResolution, DomainResolutionResponse};

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::Verdict;

/// `api-domain-name-resolved-correctly`.
pub(in crate::rules::checks) fn api(context: &CheckContext<'_>) -> Verdict {
    resolved(context, "api", "api")
}

/// `api-int-domain-name-resolved-correctly`.
pub(in crate::rules::checks) fn api_int(context: &CheckContext<'_>) -> Verdict {
    resolved(context, "api-int", "api-int")
}

/// `apps-domain-name-resolved-correctly`: the host resolves one name below the wildcard.
pub(in crate::rules::checks) fn apps(context: &CheckContext<'_>) -> Verdict {
    resolved(context, "console-openshift-console.apps", "*.apps")
}

fn resolved(context: &CheckContext<'_>, queried: &str, shown: &str) -> Verdict {
    let Some(bound) = context.bound() else {
        return Verdict::Hidden;
    };
    if context.host.data.has_bootstrap_ignition {
        return Verdict::success("The host has bootstrap data of its own, which names the cluster's API");
    }
    let domain = bound.data().domain();
    let shown = domain.as_ref().map_or_else(
        || format!("{shown} of the cluster {}", bound.data().name),
        |domain| format!("{shown}.{domain}"),
    );
    let Some(ignition) = context.worker_ignition() else {
        return Verdict::Pending(format!(
            "{shown} waits for the cluster's ignition, which shows whether the cluster answers for its names itself"
        ));
    };
    if ignition.managed_networking {
        return Verdict::success("The cluster answers for its names itself");
    }
    let Some(domain) = domain else {
        return Verdict::Error(format!(
            "{shown} is not known, for it has no base domain; set base_dns_domain"
        ));
    };
    let Some(answer) = &context.host.data.domain_name_resolutions else {
        return Verdict::Error(format!("The host has not reported yet what {shown} means"));
    };
    let name = format!("{queried}.{domain}");
    if find(answer, &name).is_some_and(means_something) {
        Verdict::Success(format!("{shown} is known on the host"))
    } else {
        Verdict::Failure(format!(
            "{shown} is not known on the host; add it to the DNS that the host uses"
        ))
    }
}

fn find<'a>(answer: &'a DomainResolutionResponse, name: &str) -> Option<&'a DomainResolution> {
    answer
        .resolutions
        .iter()
        .find(|entry| entry.domain_name.eq_ignore_ascii_case(name))
}

fn means_something(entry: &DomainResolution) -> bool {
    !(entry.ipv4_addresses.is_empty() && entry.ipv6_addresses.is_empty() && entry.cnames.is_empty())
}
