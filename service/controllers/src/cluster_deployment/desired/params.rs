//! Converts the settings of the resources field by field.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::cluster::{
    ClusterNetwork, ClusterUpdateParams, DiskEncryption, Hyperthreading, IgnitionEndpoint, LoadBalancer,
    LoadBalancerType, MachineNetwork, ServiceNetwork, Vip,
};
use muster_core::rules::input::Invalid;
use muster_resources::{
    AgentClusterInstallSpec, Hyperthreading as Threads, LoadBalancerType as Balancer, MachinePool,
    Networking, names,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Wanted;
use crate::agent_cluster_install::platform;

/// Returns all settings of a cluster in the resources.
pub fn params(wanted: &Wanted<'_>) -> Result<ClusterUpdateParams, Invalid> {
    let (deployment, spec) = (&wanted.deployment.spec, &wanted.install.spec);
    let proxy = spec.proxy.clone().unwrap_or_default();
    let (_, user_managed) = platform::platform(spec);
    let labels = wanted.install.metadata.labels.as_ref();
    let network_type = spec.networking.network_type;
    Ok(ClusterUpdateParams {
        name: Some(deployment.cluster_name.clone()),
        base_dns_domain: Some(deployment.base_domain.clone()),
        api_vip_dns_name: Some(wanted.api_name()),
        pull_secret: wanted.pull_secret.map(|secret| secret.reveal().to_owned()),
        ssh_public_key: spec.ssh_public_key.clone(),
        http_proxy: proxy.http_proxy,
        https_proxy: proxy.https_proxy,
        no_proxy: proxy.no_proxy,
        ntp_sources: Some(spec.ntp_sources.join(",")),
        ignition_endpoint: spec.ignition_endpoint.as_ref().map(|endpoint| IgnitionEndpoint {
            url: endpoint.url.clone(),
            ca_certificate: wanted.ignition_ca.map(|pem| STANDARD.encode(pem.reveal())),
        }),
        machine_networks: Some(machine_networks(&spec.networking)),
        cluster_networks: Some(cluster_networks(&spec.networking)),
        service_networks: Some(service_networks(&spec.networking)),
        api_vips: Some(vips(&spec.api_vips, spec.api_vip.as_ref())),
        ingress_vips: Some(vips(&spec.ingress_vips, spec.ingress_vip.as_ref())),
        platform: Some(platform::in_rest(spec)),
        load_balancer: spec.load_balancer.as_ref().map(|balancer| LoadBalancer {
            balancer_type: match balancer.type_ {
                Balancer::ClusterManaged => LoadBalancerType::ClusterManaged,
                Balancer::UserManaged => LoadBalancerType::UserManaged,
            },
        }),
        disk_encryption: disk_encryption(spec)?,
        hyperthreading: hyperthreading(spec),
        network_type: network_type
            .map(|chosen| same_word("network_type", json!(chosen)))
            .transpose()?,
        schedulable_masters: spec.masters_schedulable,
        user_managed_networking: Some(user_managed),
        control_plane_count: Some(spec.provision_requirements.control_plane_agents),
        tags: labels
            .and_then(|labels| labels.get(names::label::CONSUMER))
            .cloned(),
        ..ClusterUpdateParams::default()
    })
}

fn machine_networks(networking: &Networking) -> Vec<MachineNetwork> {
    let network = |one: &muster_resources::MachineNetwork| MachineNetwork {
        cluster_id: None,
        cidr: Some(one.cidr.clone()),
    };
    networking.machine_network.iter().map(network).collect()
}

fn cluster_networks(networking: &Networking) -> Vec<ClusterNetwork> {
    let network = |one: &muster_resources::ClusterNetwork| ClusterNetwork {
        cluster_id: None,
        cidr: Some(one.cidr.clone()),
        host_prefix: one.host_prefix.map(i64::from),
    };
    networking.cluster_network.iter().map(network).collect()
}

fn service_networks(networking: &Networking) -> Vec<ServiceNetwork> {
    let network = |cidr: &String| ServiceNetwork {
        cluster_id: None,
        cidr: Some(cidr.clone()),
    };
    networking.service_network.iter().map(network).collect()
}

/// The addresses of `list`, or `one`, the older form.
fn vips(list: &[String], one: Option<&String>) -> Vec<Vip> {
    let one = one.filter(|ip| list.is_empty() && !ip.is_empty());
    let vip = |ip: &String| Vip {
        ip: Some(ip.clone()),
        ..Vip::default()
    };
    list.iter().chain(one).map(vip).collect()
}

fn disk_encryption(spec: &AgentClusterInstallSpec) -> Result<Option<DiskEncryption>, Invalid> {
    let Some(encryption) = &spec.disk_encryption else {
        return Ok(None);
    };
    let mode = encryption.mode;
    Ok(Some(DiskEncryption {
        enable_on: Some(same_word(
            "disk_encryption.enableOn",
            json!(encryption.enable_on),
        )?),
        mode: mode
            .map(|mode| same_word("disk_encryption.mode", json!(mode)))
            .transpose()?,
        tang_servers: encryption.tang_servers.clone(),
    }))
}

/// Converts a word that both APIs spell alike.
fn same_word<T: DeserializeOwned>(field: &'static str, word: Value) -> Result<T, Invalid> {
    serde_json::from_value(word).map_err(|error| Invalid::new(field, error.to_string()))
}

/// The setting; `None` when no pool is described.
fn hyperthreading(spec: &AgentClusterInstallSpec) -> Option<Hyperthreading> {
    if spec.control_plane.is_none() && spec.compute.is_empty() && spec.arbiter.is_none() {
        return None;
    }
    let on = |pool: &MachinePool| match pool.hyperthreading {
        Threads::Unset | Threads::Enabled => true,
        Threads::Disabled => false,
    };
    let masters = spec.control_plane.as_ref().is_none_or(on);
    let workers = spec
        .compute
        .iter()
        .find(|pool| pool.name == "worker")
        .is_none_or(on);
    // Arbiters differ only where they are described.
    let arbiters = spec.arbiter.as_ref().map(on);
    Some(match (masters, arbiters, workers) {
        (true, None | Some(true), true) => Hyperthreading::All,
        (true, Some(true), false) => Hyperthreading::MastersArbiters,
        (true, Some(false), true) => Hyperthreading::MastersWorkers,
        (true, None | Some(false), false) => Hyperthreading::Masters,
        (false, Some(true), true) => Hyperthreading::ArbitersWorkers,
        (false, Some(true), false) => Hyperthreading::Arbiters,
        (false, None | Some(false), true) => Hyperthreading::Workers,
        (false, None | Some(false), false) => Hyperthreading::None,
    })
}
