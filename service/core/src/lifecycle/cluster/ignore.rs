//! Sets the checks that are ignored for the hosts of a cluster. Source: docs/protocol/host-lifecycle.md#4,
//! docs/protocol/cluster-validations.tsv.

use std::collections::BTreeSet;

use muster_api::cluster::IgnoredValidations;
use muster_api::time::Timestamp;

use crate::json::to_json;
use crate::record::{CheckId, Cluster};
use crate::rules::checks::{ALL_CHECKS, NEVER_IGNORED};
use crate::rules::input::Invalid;

/// Checks of clusters, all about installing a new one: none is made here, so that ignoring one changes nothing.
const CLUSTER_VALIDATIONS: [&str; 49] = [
    "machine-cidr-defined",
    "cluster-cidr-defined",
    "service-cidr-defined",
    "no-cidrs-overlapping",
    "networks-same-address-families",
    "network-prefix-valid",
    "machine-cidr-equals-to-calculated-cidr",
    "api-vips-defined",
    "api-vips-valid",
    "ingress-vips-defined",
    "ingress-vips-valid",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "dns-domain-defined",
    "pull-secret-set",
    "ntp-server-configured",
    "lso-requirements-satisfied",
    "ocs-requirements-satisfied",
    "odf-requirements-satisfied",
    "cnv-requirements-satisfied",
    "lvm-requirements-satisfied",
    "mce-requirements-satisfied",
    "mtv-requirements-satisfied",
    "osc-requirements-satisfied",
    "network-type-valid",
    "custom-manifests-requirements-satisfied",
    "platform-requirements-satisfied",
    "node-feature-discovery-requirements-satisfied",
    "nvidia-gpu-requirements-satisfied",
    "pipelines-requirements-satisfied",
    "servicemesh-requirements-satisfied",
    "serverless-requirements-satisfied",
    "openshift-ai-requirements-satisfied",
    "openshift-ai-gpu-requirements-satisfied",
    "authorino-requirements-satisfied",
    "nmstate-requirements-satisfied",
    "amd-gpu-requirements-satisfied",
    "kmm-requirements-satisfied",
    "node-healthcheck-requirements-satisfied",
    "self-node-remediation-requirements-satisfied",
    "fence-agents-remediation-requirements-satisfied",
    "node-maintenance-requirements-satisfied",
    "kube-descheduler-requirements-satisfied",
    "cluster-observability-requirements-satisfied",
    "numa-resources-requirements-satisfied",
    "oadp-requirements-satisfied",
    "metallb-requirements-satisfied",
    "loki-requirements-satisfied",
    "openshift-logging-requirements-satisfied",
];

/// The ignored checks, as the API returns them.
pub fn ignored(cluster: &Cluster) -> IgnoredValidations {
    IgnoredValidations {
        host_validation_ids: text(&cluster.data.ignored_host_validations),
        cluster_validation_ids: text(&cluster.data.ignored_cluster_validations),
    }
}

fn text(ids: &[String]) -> Option<String> {
    (!ids.is_empty()).then(|| to_json(ids))
}

/// `cluster` with these checks ignored and no others; `None` when that is so already.
///
/// # Errors
/// A list that is not one, an unknown id, or one that may not be ignored.
pub fn ignore(
    cluster: &Cluster,
    wanted: &IgnoredValidations,
    now: Timestamp,
) -> Result<Option<Cluster>, Invalid> {
    let hosts: BTreeSet<&str> = CheckId::ALL.iter().map(|check| check.id()).collect();
    let never = NEVER_IGNORED.map(CheckId::id);
    let clusters: BTreeSet<&str> = CLUSTER_VALIDATIONS.into_iter().collect();
    let mut next = cluster.clone();
    next.data.ignored_host_validations = ids(
        "host-validation-ids",
        wanted.host_validation_ids.as_deref(),
        &hosts,
        &never,
    )?;
    next.data.ignored_cluster_validations = ids(
        "cluster-validation-ids",
        wanted.cluster_validation_ids.as_deref(),
        &clusters,
        &[],
    )?;
    if next == *cluster {
        return Ok(None);
    }
    next.updated_at = now;
    Ok(Some(next))
}

fn ids(
    field: &'static str,
    text: Option<&str>,
    known: &BTreeSet<&str>,
    never: &[&str],
) -> Result<Vec<String>, Invalid> {
    let text = text.unwrap_or_default();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list: BTreeSet<String> = serde_json::from_str(text).map_err(|_| {
        Invalid::new(
            field,
            "must be the JSON text of a list of ids, such as [\"ntp-synced\"]",
        )
    })?;
    for id in &list {
        if never.contains(&id.as_str()) {
            return Err(Invalid::new(
                field,
                format!("{id} cannot be ignored: without it nothing certain is known of a host"),
            ));
        }
        if id != ALL_CHECKS && !known.contains(id.as_str()) {
            return Err(Invalid::new(field, format!("there is no check {id:?}")));
        }
    }
    Ok(list.into_iter().collect())
}
