//! Names of the objects that are made for a HostedCluster. Source: docs/protocol/capi-agent-provider.md#8.

use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use muster_controller::references::kube_ref;
use muster_core::record::KubeRef;
use muster_resources::cluster_api::ContractReference;
use muster_resources::hypershift::{self, HOSTED_CLUSTER, HostedCluster};
use muster_resources::names;

/// The copy of the administrator's kubeconfig, by the name that infrastructure providers know. Source:
/// docs/protocol/capi-agent-provider.md#5.
pub const ADMIN_KUBECONFIG: &str = "admin-kubeconfig";

/// The copy of the pull secret.
pub const PULL_SECRET: &str = "pull-secret";

/// The Secret with the certificate of the Ignition server's authority.
pub const IGNITION_CA: &str = "ignition-server-ca-cert";

/// The namespace of the objects that are made for a HostedCluster.
pub fn namespace(hosted: &HostedCluster) -> String {
    format!("{}-{}", hosted.namespace().unwrap_or_default(), hosted.name_any())
}

/// True when a namespace was made for this HostedCluster.
pub fn is_own(hosted: &HostedCluster, namespace: &Namespace) -> bool {
    namespace.annotations().get(HOSTED_CLUSTER) == Some(&annotation(&kube_ref(hosted)))
}

/// True when a namespace was made for another HostedCluster.
pub fn is_of_another(hosted: &HostedCluster, namespace: &Namespace) -> bool {
    namespace.annotations().contains_key(HOSTED_CLUSTER) && !is_own(hosted, namespace)
}

/// The name of the Cluster.
pub fn cluster(hosted: &HostedCluster) -> KubeRef {
    let name = hosted.spec.infra_id.clone().filter(|id| !id.is_empty());
    KubeRef::new(namespace(hosted), name.unwrap_or_else(|| hosted.name_any()))
}

/// The name of the AgentCluster and the HostedControlPlane, which is the HostedCluster's.
pub fn own(hosted: &HostedCluster) -> KubeRef {
    KubeRef::new(namespace(hosted), hosted.name_any())
}

/// The name of the user's Secret with the administrator's kubeconfig.
pub fn kubeconfig(hosted: &HostedCluster) -> KubeRef {
    let named = hosted
        .status
        .as_ref()
        .and_then(|status| status.kubeconfig.as_ref());
    let named = named
        .map(|secret| secret.name.clone())
        .filter(|name| !name.is_empty());
    let name = named.unwrap_or_else(|| format!("{}-admin-kubeconfig", hosted.name_any()));
    KubeRef::new(hosted.namespace().unwrap_or_default(), name)
}

/// The name of the user's Secret with the bootstrap data of a NodePool in this namespace.
pub fn user_data(namespace: &str, pool: &str) -> KubeRef {
    KubeRef::new(namespace, format!("user-data-{pool}"))
}

/// Namespace and name, in the form of annotations.
pub fn annotation(name: &KubeRef) -> String {
    format!("{}/{}", name.namespace, name.name)
}

/// A reference to an object of the infrastructure provider.
pub fn infrastructure(kind: &str, name: &str) -> ContractReference {
    ContractReference {
        api_group: names::group::CAPI_PROVIDER.into(),
        kind: kind.into(),
        name: name.into(),
    }
}

/// A reference to a control plane.
pub fn control_plane(name: &str) -> ContractReference {
    ContractReference {
        api_group: hypershift::GROUP.into(),
        kind: "HostedControlPlane".into(),
        name: name.into(),
    }
}

/// The version in the tag of a release image: `4.20.1` of `.../ocp-release:4.20.1-x86_64`.
pub fn version_of(image: &str) -> Option<String> {
    let (_, tag) = image.rsplit_once(':')?;
    let tag = tag.trim_start_matches('v');
    let end = [
        "-x86_64", "-aarch64", "-arm64", "-amd64", "-multi", "-ppc64le", "-s390x",
    ]
    .iter()
    .find_map(|suffix| tag.strip_suffix(suffix));
    let version = end.unwrap_or(tag);
    let is_version = version.starts_with(|first: char| first.is_ascii_digit())
        && version.contains('.')
        && !version.contains('/');
    is_version.then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_images_tag() {
        for (image, version) in [
            (
                "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64",
                Some("4.20.1"),
            ),
            (
                "registry.example.test:5000/release:4.21.0-ec.1-multi",
                Some("4.21.0-ec.1"),
            ),
            ("registry.example.test/k8s:v1.34.4", Some("1.34.4")),
            ("registry.example.test:5000/release@sha256:abc", None),
            ("registry.example.test:5000/release", None),
            ("", None),
        ] {
            assert_eq!(version_of(image).as_deref(), version, "{image}");
        }
    }
}
