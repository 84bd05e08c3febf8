use axum::Json;
use muster_api::cluster::{ClusterDefaultConfig, ClusterNetwork, ServiceNetwork};
use muster_core::rules::hostname::FORBIDDEN;

/// Clusters are not deleted for inactivity; consoles compute a date from this, so 0 would be today. A hundred years.
const NEVER_HOURS: i64 = 100 * 365 * 24;

/// Get the defaults of a new cluster
///
/// Clients fill their forms with them (docs/protocol/rest-behaviour.md#6).
#[utoipa::path(
    get, path = "/clusters/default-config", operation_id = "V2GetClusterDefaultConfig", tag = "installer",
    responses((status = 200, body = ClusterDefaultConfig))
)]
pub async fn get_default_config() -> Json<ClusterDefaultConfig> {
    let network = |cidr: &str, prefix: i64| ClusterNetwork {
        cluster_id: None,
        cidr: Some(cidr.into()),
        host_prefix: Some(prefix),
    };
    let service = |cidr: &str| ServiceNetwork {
        cluster_id: None,
        cidr: Some(cidr.into()),
    };
    let (pods, services) = ("10.128.0.0/14", "172.30.0.0/16");
    Json(ClusterDefaultConfig {
        cluster_network_cidr: pods.into(),
        cluster_network_host_prefix: 23,
        service_network_cidr: services.into(),
        cluster_networks_ipv4: vec![network(pods, 23)],
        cluster_networks_dualstack: vec![network(pods, 23), network("fd01::/48", 64)],
        service_networks_ipv4: vec![service(services)],
        service_networks_dualstack: vec![service(services), service("fd02::/112")],
        inactive_deletion_hours: NEVER_HOURS,
        ntp_source: String::new(),
        forbidden_hostnames: FORBIDDEN.map(str::to_owned).to_vec(),
    })
}
