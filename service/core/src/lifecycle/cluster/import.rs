//! Imports a cluster that exists already. Source: docs/protocol/rest-behaviour.md#6.

use muster_api::cluster::ImportClusterParams;
use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;

use crate::record::{Cluster, ClusterData};
use crate::rules::input::{self, Invalid};

/// The cluster as `params` describe it. Its event: [`registered`](super::events::registered).
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn import(params: ImportClusterParams, id: ClusterId, now: Timestamp) -> Result<Cluster, Invalid> {
    input::cluster::name(&params.name)?;
    input::cluster::endpoint("api_vip_dnsname", &params.api_vip_dnsname)?;
    let version = params.openshift_version.unwrap_or_default();
    input::openshift_version(&version)?;
    let (name, domain) = match name_and_domain(&params.api_vip_dnsname) {
        Some((name, domain)) => (name.to_owned(), domain.to_owned()),
        None => (params.name, String::new()),
    };
    Ok(Cluster {
        id,
        kube: None,
        mirror: None,
        version: 0,
        created_at: now,
        updated_at: now,
        data: ClusterData {
            name,
            base_dns_domain: domain,
            openshift_cluster_id: params.openshift_cluster_id.to_string(),
            openshift_version: version,
            api_vip_dnsname: params.api_vip_dnsname,
            ..ClusterData::default()
        },
    })
}

/// From `api.NAME.DOMAIN`. `None` when NAME is not the name of a cluster.
fn name_and_domain(api: &str) -> Option<(&str, &str)> {
    let (name, domain) = api.strip_prefix("api.")?.split_once('.')?;
    (input::cluster::name(name).is_ok() && !domain.is_empty()).then_some((name, domain))
}

#[cfg(test)]
mod tests {
    use super::name_and_domain;

    #[test]
    fn only_the_usual_form_of_an_api_name_tells_name_and_domain() {
        assert_eq!(
            name_and_domain("api.day2.example.test"),
            Some(("day2", "example.test"))
        );
        for other in [
            "192.0.2.1",
            "api.day2",
            "lb.day2.example.test",
            "api.Day2.example.test",
        ] {
            assert_eq!(name_and_domain(other), None, "{other}");
        }
    }
}
