//! Computes the ClusterDeployment and the AgentClusterInstall of an AgentCluster. Source:
//! docs/protocol/capi-agent-provider.md#5, steps 4 and 6.

use std::collections::BTreeMap;

use kube::ResourceExt;
use muster_controller::references::owner_reference;
use muster_resources::names::{group, label};
use muster_resources::{
    AgentBareMetalPlatform, AgentCluster, AgentClusterInstall, AgentClusterInstallSpec, ClusterDeployment,
    ClusterDeploymentMetadata, ClusterDeploymentPlatform, ClusterDeploymentSpec, ClusterInstallReference,
    IgnitionEndpoint, LocalReference, Networking, OptionalLocalReference, ProvisionRequirements,
};
use url::Url;

use super::control_plane::ControlPlane;

fn named(name: &str) -> OptionalLocalReference {
    OptionalLocalReference {
        name: name.to_owned(),
    }
}

/// Returns the ClusterDeployment: a cluster that exists. Its ids are that of the first owner, the Cluster.
pub fn deployment(cluster: &AgentCluster, control_plane: &ControlPlane) -> ClusterDeployment {
    let name = cluster.name_any();
    let id = cluster.owner_references().first().map(|owner| owner.uid.clone());
    let id = id.unwrap_or_default();
    let mut deployment = ClusterDeployment::new(
        &name,
        ClusterDeploymentSpec {
            cluster_name: control_plane.name.clone(),
            base_domain: control_plane.base_domain.clone(),
            platform: ClusterDeploymentPlatform {
                agent_bare_metal: Some(AgentBareMetalPlatform::default()),
                ..ClusterDeploymentPlatform::default()
            },
            cluster_install_ref: Some(ClusterInstallReference {
                group: group::HIVE_EXTENSIONS.to_owned(),
                kind: "AgentClusterInstall".to_owned(),
                name: name.clone(),
                version: "v1beta1".to_owned(),
            }),
            installed: Some(true),
            cluster_metadata: Some(ClusterDeploymentMetadata {
                cluster_id: id.clone(),
                infra_id: id,
                admin_kubeconfig_secret_ref: named(&control_plane.kubeconfig),
                admin_password_secret_ref: control_plane.password.as_deref().map(named),
                ..ClusterDeploymentMetadata::default()
            }),
            pull_secret_ref: control_plane.pull_secret.as_deref().map(named),
            ..ClusterDeploymentSpec::default()
        },
    );
    deployment.metadata.namespace = cluster.namespace();
    deployment.metadata.labels = Some(BTreeMap::from([
        (label::AGENT_CLUSTER_REF.to_owned(), name),
        (label::BACKUP.to_owned(), "true".to_owned()),
    ]));
    deployment.metadata.owner_references = Some(vec![owner_reference(cluster)]);
    deployment
}

/// Returns the AgentClusterInstall of `deployment`.
pub fn install(cluster: &AgentCluster, deployment: &ClusterDeployment) -> AgentClusterInstall {
    let name = deployment.name_any();
    let mut install = AgentClusterInstall::new(
        &name,
        AgentClusterInstallSpec {
            cluster_deployment_ref: LocalReference { name: name.clone() },
            networking: Networking {
                user_managed_networking: Some(true),
                ..Networking::default()
            },
            provision_requirements: ProvisionRequirements {
                control_plane_agents: 3,
                ..ProvisionRequirements::default()
            },
            ignition_endpoint: cluster.spec.ignition_endpoint.as_ref().map(endpoint),
            ..AgentClusterInstallSpec::default()
        },
    );
    install.metadata.namespace = cluster.namespace();
    install
}

/// The endpoint without the path of the URL: the service appends the name of the MachineConfigPool.
fn endpoint(given: &IgnitionEndpoint) -> IgnitionEndpoint {
    IgnitionEndpoint {
        url: given.url.as_deref().map(without_path),
        ca_certificate_reference: given.ca_certificate_reference.clone(),
    }
}

fn without_path(given: &str) -> String {
    let whole = bracketed(given);
    match Url::parse(&whole) {
        Ok(url) if url.has_host() => url.origin().ascii_serialization(),
        // The AgentClusterInstall's conditions will show the error in it.
        _ => given.to_owned(),
    }
}

/// Puts an IPv6 address in a URL into brackets; HyperShift omits them.
fn bracketed(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    if authority.starts_with('[') || authority.matches(':').count() < 2 {
        return url.to_owned();
    }
    // The last group is the port: HyperShift always writes one.
    match authority.rsplit_once(':') {
        Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => {
            format!("{scheme}://[{host}]:{port}{path}")
        }
        _ => format!("{scheme}://[{authority}]{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use muster_resources::AgentClusterSpec;
    use serde_json::json;

    #[test]
    fn the_path_of_the_endpoint_is_left_out_and_ipv6_addresses_get_brackets() {
        for (given, wanted) in [
            (
                "https://ignition.example.test:31111/ignition",
                "https://ignition.example.test:31111",
            ),
            ("https://192.0.2.1:31111/ignition", "https://192.0.2.1:31111"),
            (
                "https://[2001:db8::1]:31111/ignition",
                "https://[2001:db8::1]:31111",
            ),
            (
                "https://2001:db8::1:31111/ignition",
                "https://[2001:db8::1]:31111",
            ),
            (
                "https://ignition.example.test/ignition",
                "https://ignition.example.test",
            ),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_path(given), wanted, "{given}");
        }
    }

    #[test]
    fn a_cluster_deployment_is_one_of_an_installed_cluster() {
        let mut cluster = AgentCluster::new("hc", AgentClusterSpec::default());
        cluster.metadata.namespace = Some("c".into());
        cluster.metadata.owner_references = Some(vec![OwnerReference {
            uid: "u-1".into(),
            ..OwnerReference::default()
        }]);
        let control_plane = ControlPlane {
            name: "hc".into(),
            base_domain: "example.test".into(),
            pull_secret: Some("pull".into()),
            kubeconfig: "admin-kubeconfig".into(),
            password: None,
        };
        let deployment = deployment(&cluster, &control_plane);
        let made = serde_json::to_value(&deployment).unwrap();
        assert_eq!(
            made["spec"],
            json!({
                "clusterName": "hc", "baseDomain": "example.test", "installed": true,
                "platform": {"agentBareMetal": {"agentSelector": {}}},
                "clusterInstallRef": {
                    "group": "extensions.hive.openshift.io", "kind": "AgentClusterInstall", "name": "hc",
                    "version": "v1beta1",
                },
                "clusterMetadata": {
                    "clusterID": "u-1", "infraID": "u-1", "adminKubeconfigSecretRef": {"name": "admin-kubeconfig"},
                },
                "pullSecretRef": {"name": "pull"},
            })
        );
        assert_eq!(made["metadata"]["labels"]["agentClusterRef"], "hc");
        let install = install(&cluster, &deployment);
        assert_eq!(install.spec.provision_requirements.control_plane_agents, 3);
        assert_eq!(install.spec.networking.user_managed_networking, Some(true));
    }
}
