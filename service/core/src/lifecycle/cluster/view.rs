//! Shows clusters as the API returns them; the recorded conversation decides the shape.

use std::collections::{BTreeMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use muster_api::BASE_PATH;
use muster_api::cluster::{
    Cluster as ClusterView, ClusterKind, ClusterNetwork, ClusterProgressInfo, ClusterStatus, HostNetwork,
    IgnitionEndpoint, ImageInfo, LastInstallationPreparation, LoadBalancer, MachineNetwork,
    MonitoredOperator, Platform, PlatformExternal, PlatformType, ServiceNetwork, Vip,
};
use muster_api::host::HostStatus;
use muster_api::ids::HostId;
use muster_api::time::{NEVER, NEVER_MILLIS, Timestamp, micros, millis};

use crate::json::to_json;
use crate::record::{Cluster, Host};

/// The protocol has three shapes of one record, which differ in what is absent, `null` or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// To an import.
    Imported,
    /// Outside of a list.
    Alone,
    /// In a list.
    Listed,
}

/// Totals over all hosts, for the cluster that is returned with them.
#[derive(Debug, Clone, Default)]
pub struct HostSums {
    total: i64,
    ready: i64,
    networks: BTreeMap<String, (Vec<HostId>, HashSet<HostId>)>,
}

impl HostSums {
    /// Counts one more.
    pub fn add(&mut self, host: &Host) {
        self.total += 1;
        self.ready += i64::from(host.state.status() == HostStatus::Known);
        for interface in host.inventory.iter().flat_map(|inventory| &inventory.interfaces) {
            for address in interface.ipv4_addresses.iter().chain(&interface.ipv6_addresses) {
                let Ok(net) = address.parse::<IpNet>() else {
                    continue;
                };
                let (ids, known) = self.networks.entry(net.trunc().to_string()).or_default();
                if known.insert(host.id) {
                    ids.push(host.id);
                }
            }
        }
    }

    /// The networks that hosts are in, by their inventories.
    fn into_networks(self) -> Vec<HostNetwork> {
        let networks = self.networks.into_iter();
        networks
            .map(|(cidr, (host_ids, _))| HostNetwork { cidr, host_ids })
            .collect()
    }
}

/// Returns the cluster without its hosts; `sums` are their totals. `user`: the owner's name (`admin`).
pub fn view(
    cluster: &Cluster,
    shape: Shape,
    sums: HostSums,
    deleted_at: Option<Timestamp>,
    user: &str,
) -> ClusterView {
    let data = &cluster.data;
    let traits = &data.traits;
    let cluster_network = traits.cluster_networks.first();
    let full = shape != Shape::Imported;
    let proxy = |part: &Option<String>| part.clone().unwrap_or_default();
    let first = |list: &[String]| list.first().cloned().unwrap_or_default();
    ClusterView {
        kind: ClusterKind::AddHostsCluster,
        id: cluster.id,
        href: format!("{BASE_PATH}/clusters/{}", cluster.id),
        name: data.name.clone(),
        user_name: user.to_owned(),
        email_domain: "Unknown".into(),
        status: ClusterStatus::AddingHosts,
        // Scripts match the field's text.
        status_info: "cluster is adding hosts to existing OCP cluster".into(),
        status_updated_at: millis(Some(cluster.created_at)),
        openshift_version: data.openshift_version.clone(),
        openshift_cluster_id: data.openshift_cluster_id.clone(),
        cpu_architecture: data
            .cpu_architecture
            .map(|architecture| architecture.name().to_owned())
            .unwrap_or_default(),
        base_dns_domain: data.base_dns_domain.clone(),
        api_vip_dns_name: data.api_vip_dnsname.clone(),
        api_vips: list(full, vips(cluster, &data.api_vips)),
        ingress_vips: list(full, vips(cluster, &data.ingress_vips)),
        machine_networks: list(full, machine_networks(cluster)),
        cluster_networks: list(full, cluster_networks(cluster)),
        service_networks: list(full, service_networks(cluster)),
        machine_network_cidr: first(&data.machine_networks),
        cluster_network_cidr: cluster_network
            .and_then(|one| one.cidr.clone())
            .unwrap_or_default(),
        cluster_network_host_prefix: cluster_network
            .and_then(|one| one.host_prefix)
            .unwrap_or_default(),
        service_network_cidr: first(&traits.service_networks),
        total_host_count: sums.total,
        enabled_host_count: sums.total,
        ready_host_count: sums.ready,
        host_networks: (shape != Shape::Listed).then(|| sums.into_networks()),
        hosts: Vec::new(),
        platform: platform(traits.platform.as_ref(), full),
        load_balancer: LoadBalancer {
            balancer_type: traits.load_balancer,
        },
        disk_encryption: full.then(|| traits.disk_encryption.clone()),
        ignition_endpoint: full.then(|| ignition_endpoint(cluster)),
        hyperthreading: traits.hyperthreading,
        network_type: traits.network_type,
        schedulable_masters: traits.schedulable_masters,
        user_managed_networking: traits.user_managed_networking,
        vip_dhcp_allocation: traits.vip_dhcp_allocation,
        control_plane_count: traits.control_plane_count,
        tags: traits.tags.clone(),
        monitored_operators: list(full, operators(cluster)),
        operator_bundles: list(shape == Shape::Alone, traits.operator_bundles.clone()),
        pull_secret_set: !data.pull_secret.is_empty(),
        ssh_public_key: data.ssh_public_key.clone(),
        http_proxy: proxy(&data.proxy.http_proxy),
        https_proxy: proxy(&data.proxy.https_proxy),
        no_proxy: proxy(&data.proxy.no_proxy),
        additional_ntp_source: data.additional_ntp_source.clone(),
        ntp_sources: data.ntp_sources.clone(),
        ignored_host_validations: ids(&data.ignored_host_validations),
        ignored_cluster_validations: ids(&data.ignored_cluster_validations),
        image_info: ImageInfo {
            created_at: if shape == Shape::Alone {
                NEVER.into()
            } else {
                micros(Some(cluster.created_at))
            },
            expires_at: NEVER_MILLIS.into(),
        },
        progress: full.then(|| ClusterProgressInfo {
            finalizing_stage_started_at: NEVER_MILLIS.into(),
        }),
        last_installation_preparation: LastInstallationPreparation::default(),
        imported: true,
        install_started_at: NEVER_MILLIS.into(),
        install_completed_at: NEVER_MILLIS.into(),
        controller_logs_collected_at: NEVER_MILLIS.into(),
        controller_logs_started_at: NEVER_MILLIS.into(),
        created_at: micros(Some(cluster.created_at)),
        updated_at: micros(Some(cluster.updated_at)),
        deleted_at: deleted_at.map(|at| micros(Some(at))),
    }
}

fn machine_networks(cluster: &Cluster) -> Vec<MachineNetwork> {
    let networks = cluster.data.machine_networks.iter();
    networks
        .map(|cidr| MachineNetwork {
            cluster_id: Some(cluster.id),
            cidr: Some(cidr.clone()),
        })
        .collect()
}

fn cluster_networks(cluster: &Cluster) -> Vec<ClusterNetwork> {
    let networks = cluster.data.traits.cluster_networks.iter();
    networks
        .map(|one| ClusterNetwork {
            cluster_id: Some(cluster.id),
            ..one.clone()
        })
        .collect()
}

fn service_networks(cluster: &Cluster) -> Vec<ServiceNetwork> {
    let networks = cluster.data.traits.service_networks.iter();
    networks
        .map(|cidr| ServiceNetwork {
            cluster_id: Some(cluster.id),
            cidr: Some(cidr.clone()),
        })
        .collect()
}

/// `null` where the protocol's first implementation has not made the list.
fn list<T>(made: bool, list: Vec<T>) -> Option<Vec<T>> {
    (made || !list.is_empty()).then_some(list)
}

fn ids(list: &[String]) -> String {
    if list.is_empty() {
        return String::new();
    }
    to_json(list)
}

fn vips(cluster: &Cluster, list: &[String]) -> Vec<Vip> {
    list.iter()
        .map(|ip| Vip {
            cluster_id: Some(cluster.id),
            ip: Some(ip.clone()),
            verification: Some("unverified".into()),
        })
        .collect()
}

fn operators(cluster: &Cluster) -> Vec<MonitoredOperator> {
    cluster
        .data
        .traits
        .olm_operators
        .iter()
        .map(|operator| MonitoredOperator {
            cluster_id: cluster.id,
            name: operator.name.clone().unwrap_or_default(),
            operator_type: "olm".into(),
            properties: operator.properties.clone().unwrap_or_default(),
        })
        .collect()
}

fn platform(said: Option<&Platform>, full: bool) -> Platform {
    let platform = said.cloned().unwrap_or(Platform {
        platform_type: PlatformType::Baremetal,
        external: None,
    });
    Platform {
        external: platform.external.or_else(|| full.then(PlatformExternal::default)),
        ..platform
    }
}

fn ignition_endpoint(cluster: &Cluster) -> IgnitionEndpoint {
    let set = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let data = &cluster.data;
    IgnitionEndpoint {
        url: set(&data.ignition_endpoint_url),
        ca_certificate: set(&data.ignition_endpoint_ca).map(|pem| STANDARD.encode(pem)),
    }
}
