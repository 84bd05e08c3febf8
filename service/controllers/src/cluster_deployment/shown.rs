//! Computes the ClusterDeployment and the AgentClusterInstall that show a cluster which REST imported.
//!
//! Settings that exist only in REST (credentials, the certificate of an Ignition endpoint, details of the platform) are left out, and stay
//! as they are in the record.

use muster_core::record::{Cluster, ClusterData, KubeRef};
use muster_resources::names::{finalizer, group, label};
use muster_resources::{
    AgentBareMetalPlatform, AgentClusterInstall, AgentClusterInstallSpec, ClusterDeployment,
    ClusterDeploymentPlatform, ClusterDeploymentSpec, ClusterInstallReference, ClusterNetwork,
    IgnitionEndpoint, LocalReference, MachineNetwork, Networking, ProvisionRequirements, Proxy,
};
use serde_json::json;

/// Returns the ClusterDeployment of a record that has none yet.
pub fn deployment(name: &KubeRef, record: &Cluster) -> ClusterDeployment {
    let spec = ClusterDeploymentSpec {
        platform: ClusterDeploymentPlatform {
            agent_bare_metal: Some(AgentBareMetalPlatform::default()),
            ..ClusterDeploymentPlatform::default()
        },
        cluster_install_ref: Some(ClusterInstallReference {
            group: group::HIVE_EXTENSIONS.to_owned(),
            version: "v1beta1".to_owned(),
            kind: "AgentClusterInstall".to_owned(),
            name: name.name.clone(),
        }),
        installed: Some(true),
        ..deployment_spec(&record.data)
    };
    let mut object = ClusterDeployment::new(&name.name, spec);
    object.metadata.namespace = Some(name.namespace.clone());
    object.metadata.labels = Some([(label::MIRROR_OF.to_owned(), record.id.to_string())].into());
    object.metadata.finalizers = Some(vec![finalizer::CLUSTER_DEPLOYMENT.to_owned()]);
    object
}

/// Returns the AgentClusterInstall of a record.
pub fn install(name: &KubeRef, record: &Cluster) -> AgentClusterInstall {
    let spec = AgentClusterInstallSpec {
        cluster_deployment_ref: LocalReference {
            name: name.name.clone(),
        },
        ..install_spec(&record.data)
    };
    let mut object = AgentClusterInstall::new(&name.name, spec);
    object.metadata.namespace = Some(name.namespace.clone());
    object.metadata.labels = Some([(label::MIRROR_OF.to_owned(), record.id.to_string())].into());
    object
}

/// The fields of a ClusterDeployment that follow the record.
pub fn deployment_spec(data: &ClusterData) -> ClusterDeploymentSpec {
    ClusterDeploymentSpec {
        cluster_name: data.name.clone(),
        base_domain: data.base_dns_domain.clone(),
        ..ClusterDeploymentSpec::default()
    }
}

/// The fields of an AgentClusterInstall that follow the record.
pub fn install_spec(data: &ClusterData) -> AgentClusterInstallSpec {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let proxy = Proxy {
        http_proxy: data.proxy.http_proxy.clone(),
        https_proxy: data.proxy.https_proxy.clone(),
        no_proxy: data.proxy.no_proxy.clone(),
    };
    let sources = data.ntp_sources.split(',').map(str::trim);
    AgentClusterInstallSpec {
        networking: networking(data),
        ssh_public_key: text(&data.ssh_public_key),
        provision_requirements: ProvisionRequirements {
            control_plane_agents: data.traits.control_plane_count,
            ..ProvisionRequirements::default()
        },
        api_vips: data.api_vips.clone(),
        ingress_vips: data.ingress_vips.clone(),
        ntp_sources: sources
            .filter(|source| !source.is_empty())
            .map(str::to_owned)
            .collect(),
        ignition_endpoint: text(&data.ignition_endpoint_url).map(|url| IgnitionEndpoint {
            url: Some(url),
            ..IgnitionEndpoint::default()
        }),
        proxy: Some(proxy).filter(|proxy| *proxy != Proxy::default()),
        ..AgentClusterInstallSpec::default()
    }
}

fn networking(data: &ClusterData) -> Networking {
    let machine = data
        .machine_networks
        .iter()
        .map(|cidr| MachineNetwork { cidr: cidr.clone() });
    let cluster = data.traits.cluster_networks.iter().filter_map(|network| {
        Some(ClusterNetwork {
            cidr: network.cidr.clone()?,
            host_prefix: network.host_prefix.and_then(|prefix| i32::try_from(prefix).ok()),
        })
    });
    Networking {
        machine_network: machine.collect(),
        cluster_network: cluster.collect(),
        service_network: data.traits.service_networks.clone(),
        user_managed_networking: data.traits.user_managed_networking,
        network_type: serde_json::from_value(json!(data.traits.network_type)).ok(),
    }
}
