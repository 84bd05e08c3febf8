//! Computes a cluster's record from its ClusterDeployment and AgentClusterInstall. Source:
//! docs/protocol/kube-controllers.md#6.2.

mod params;

use muster_api::cluster::{IgnoredValidations, ImportClusterParams};
use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_core::lifecycle::cluster::{events, ignore, import, update};
use muster_core::record::{Cluster, ClusterData, ClusterTraits, KubeRef, NewEvent, Secret};
use muster_core::rules::input::Invalid;
use muster_resources::{AgentClusterInstall, ClusterDeployment, names};
use serde_json::json;
use uuid::Uuid;

/// The resources, and the values that they refer to.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub deployment: &'a ClusterDeployment,
    pub install: &'a AgentClusterInstall,
    /// The Secret of `spec.pullSecretRef`.
    pub pull_secret: Option<&'a Secret>,
    /// PEM of `spec.ignitionEndpoint.caCertificateReference`.
    pub ignition_ca: Option<&'a Secret>,
    /// Version of the release that `spec.imageSetRef` names.
    pub version: Option<&'a str>,
}

impl Wanted<'_> {
    /// The id that the cluster itself has: from the AgentClusterInstall, else from the ClusterDeployment.
    /// Empty: unknown.
    fn cluster_id(&self) -> String {
        let install = self.install.spec.cluster_metadata.as_ref();
        let deployment = self.deployment.spec.cluster_metadata.as_ref();
        install
            .map(|metadata| &metadata.cluster_id)
            .filter(|id| !id.is_empty())
            .or(deployment.map(|metadata| &metadata.cluster_id))
            .cloned()
            .unwrap_or_default()
    }

    fn api_name(&self) -> String {
        let spec = &self.deployment.spec;
        format!("api.{}.{}", spec.cluster_name, spec.base_domain)
    }
}

/// True when the cluster is installed, or is declared as installed. Source: docs/protocol/kube-controllers.md#6.2.
pub fn is_installed(deployment: &ClusterDeployment, install: &AgentClusterInstall) -> bool {
    let mut conditions = install.status.iter().flat_map(|status| &status.conditions);
    deployment.spec.installed == Some(true)
        || conditions.any(|condition| {
            condition.type_ == "Completed" && condition.reason.as_deref() == Some("InstallationCompleted")
        })
}

/// Returns the record of a cluster that is installed.
///
/// # Errors
/// Returns the first field that cannot be accepted.
pub fn imported(
    kube: KubeRef,
    wanted: &Wanted<'_>,
    id: ClusterId,
    now: Timestamp,
) -> Result<Cluster, Invalid> {
    let params = ImportClusterParams {
        name: wanted.deployment.spec.cluster_name.clone(),
        api_vip_dnsname: wanted.api_name(),
        openshift_version: wanted.version.map(str::to_owned),
        openshift_cluster_id: Uuid::nil(),
    };
    let mut made = import(params, id, now)?;
    made.kube = Some(kube);
    Ok(changed(&made, wanted, now)?.map_or(made, |(cluster, _)| cluster))
}

/// Returns `found` with the settings of the resources, and events about the change; `None`: nothing changes.
///
/// # Errors
/// Returns the first field that cannot be accepted.
pub fn changed(
    found: &Cluster,
    wanted: &Wanted<'_>,
    now: Timestamp,
) -> Result<Option<(Cluster, Vec<NewEvent>)>, Invalid> {
    let base = Cluster {
        data: without_settings(&found.data, wanted),
        ..found.clone()
    };
    let mut params = params::params(wanted)?;
    if found.data.base_dns_domain.is_empty() && wanted.deployment.spec.base_domain.is_empty() {
        // A cluster that REST imported by an address has no domain.
        (params.base_dns_domain, params.api_vip_dns_name) = (None, None);
    }
    let mut next = update(&base, params, now)?.cluster;
    if let Some(changed) = ignore::ignore(&next, &ignored_validations(wanted.install), now)? {
        next = changed;
    }
    if next.data == found.data {
        return Ok(None);
    }
    next.updated_at = now;
    let mut events = Vec::new();
    if next.data.proxy != found.data.proxy {
        events.push(events::proxy_settings_changed(&next, now));
    }
    Ok(Some((next, events)))
}

/// The record without everything that the resources can set: what they do not have, and what they cannot unset,
/// remains.
fn without_settings(data: &ClusterData, wanted: &Wanted<'_>) -> ClusterData {
    ClusterData {
        openshift_cluster_id: wanted.cluster_id(),
        openshift_version: wanted.version.unwrap_or(&data.openshift_version).to_owned(),
        cpu_architecture: data.cpu_architecture,
        url_key: data.url_key.clone(),
        traits: ClusterTraits {
            vip_dhcp_allocation: data.traits.vip_dhcp_allocation,
            olm_operators: data.traits.olm_operators.clone(),
            operator_bundles: data.traits.operator_bundles.clone(),
            ..ClusterTraits::default()
        },
        ..ClusterData::default()
    }
}

/// Reads the annotations: comma lists, or JSON lists as in REST.
fn ignored_validations(install: &AgentClusterInstall) -> IgnoredValidations {
    let list = |key: &str| {
        let text = install.metadata.annotations.as_ref()?.get(key)?.trim();
        if text.is_empty() || text.starts_with('[') {
            return Some(text.to_owned());
        }
        let ids: Vec<&str> = text
            .split(',')
            .map(str::trim)
            .filter(|id| !id.is_empty())
            .collect();
        Some(json!(ids).to_string())
    };
    IgnoredValidations {
        host_validation_ids: list(names::annotation::IGNORED_HOST_VALIDATIONS),
        cluster_validation_ids: list(names::annotation::IGNORED_CLUSTER_VALIDATIONS),
    }
}

/// The resources' name of core's `field`.
pub fn resource_field(field: &str) -> String {
    let (first, rest) = match field.find(['.', '[']) {
        Some(at) => field.split_at(at),
        None => (field, ""),
    };
    let name = match (first, rest) {
        ("name", _) => return "spec.clusterName of the ClusterDeployment".into(),
        ("base_dns_domain" | "api_vip_dnsname" | "api_vip_dns_name", _) => {
            return "spec.clusterName and spec.baseDomain of the ClusterDeployment".into();
        }
        ("pull_secret", _) => return "spec.pullSecretRef of the ClusterDeployment".into(),
        ("host-validation-ids", _) => {
            return format!("the annotation {}", names::annotation::IGNORED_HOST_VALIDATIONS);
        }
        ("cluster-validation-ids", _) => {
            return format!(
                "the annotation {}",
                names::annotation::IGNORED_CLUSTER_VALIDATIONS
            );
        }
        ("tags", _) => return format!("the label {}", names::label::CONSUMER),
        ("ignition_endpoint", ".ca_certificate") => {
            return "spec.ignitionEndpoint.caCertificateReference".into();
        }
        ("openshift_version", _) => "imageSetRef",
        ("ssh_public_key", _) => "sshPublicKey",
        ("http_proxy", _) => "proxy.httpProxy",
        ("https_proxy", _) => "proxy.httpsProxy",
        ("no_proxy", _) => "proxy.noProxy",
        ("ntp_sources", _) => "ntpSources",
        ("ignition_endpoint", _) => "ignitionEndpoint",
        ("machine_networks", _) => "networking.machineNetwork",
        ("cluster_networks", _) => "networking.clusterNetwork",
        ("service_networks", _) => "networking.serviceNetwork",
        ("network_type", _) => "networking.networkType",
        ("api_vips", _) => "apiVIPs",
        ("ingress_vips", _) => "ingressVIPs",
        ("control_plane_count", _) => "provisionRequirements.controlPlaneAgents",
        ("disk_encryption", _) => "diskEncryption",
        (other, _) => other,
    };
    format!("spec.{name}{rest}")
}

/// The version in a release image's tag, such as `4.20.3` in `registry/release:4.20.3-x86_64`.
pub fn version_of(release_image: &str) -> Option<&str> {
    let (_, tag) = release_image.rsplit_once(':')?;
    let architectures = [
        "-x86_64", "-amd64", "-aarch64", "-arm64", "-ppc64le", "-s390x", "-multi",
    ];
    let version = architectures
        .iter()
        .find_map(|architecture| tag.strip_suffix(architecture))
        .unwrap_or(tag);
    let mut parts = version.split('.');
    let mut is_number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    (is_number() && is_number()).then_some(version)
}
