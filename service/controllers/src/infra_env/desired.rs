//! Computes an InfraEnv's settings from its resource. Source: docs/protocol/kube-controllers.md#1,
//! docs/protocol/crd-fields.json.

use muster_api::infra_env::{
    Cleaning, CleaningDepth, CpuArchitecture, HostStaticNetworkConfig, ImageType, InfraEnvCreateParams,
    KernelArgument, Proxy,
};
use muster_core::record::{Cluster, InfraEnv as Kept, Secret};
use muster_core::rules::input::Invalid;
use muster_core::rules::labels;
use muster_resources::{CleaningDepth as Depth, InfraEnvSpec};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Values that the resource refers to.
#[derive(Debug)]
pub struct World<'a> {
    /// The Secret of `spec.pullSecretRef`.
    pub pull_secret: &'a Secret,
    /// The cluster of `spec.clusterRef`.
    pub cluster: Option<&'a Cluster>,
    /// Settings of the NMStateConfigs that match and can be accepted.
    pub networks: &'a [HostStaticNetworkConfig],
    /// True if the annotation requires host keys.
    pub require_host_keys: bool,
    /// The version of an InfraEnv that names none.
    pub newest_version: Option<&'a str>,
}

/// Returns all settings of the InfraEnv in the resource; settings that are absent there are not set.
///
/// # Errors
/// Fails for an unknown word. All else is checked when the InfraEnv is created.
pub fn desired(name: &str, spec: &InfraEnvSpec, world: &World<'_>) -> Result<InfraEnvCreateParams, Invalid> {
    let architecture: CpuArchitecture =
        word("cpu_architecture", Some(&spec.cpu_architecture))?.unwrap_or_default();
    if let Some(cluster) = world.cluster {
        let wanted = cluster.data.cpu_architecture.unwrap_or(architecture).normalized();
        if wanted != architecture.normalized() {
            return Err(Invalid::new(
                "cpu_architecture",
                format!(
                    "the cluster {} is made of {}, not of {}",
                    cluster.data.name,
                    wanted.name(),
                    architecture.name()
                ),
            ));
        }
    }
    let image_type: Option<ImageType> = word("image_type", spec.image_type.as_deref())?;
    let proxy = spec.proxy.as_ref().map(|proxy| Proxy {
        http_proxy: proxy.http_proxy.clone(),
        https_proxy: proxy.https_proxy.clone(),
        no_proxy: proxy.no_proxy.clone(),
    });
    Ok(InfraEnvCreateParams {
        name: name.to_owned(),
        pull_secret: world.pull_secret.reveal().to_owned(),
        additional_ntp_sources: Some(spec.additional_ntp_sources.join(",")),
        additional_trust_bundle: spec.additional_trust_bundle.clone(),
        cleaning: Some(cleaning(spec)),
        cluster_id: world.cluster.map(|cluster| cluster.id),
        cpu_architecture: Some(architecture),
        ignition_config_override: spec.ignition_config_override.clone(),
        image_type,
        kernel_arguments: kernel_arguments(spec)?,
        network_discovery_delay_seconds: spec.network_discovery_delay_seconds,
        ntp_sources: Some(spec.ntp_sources.join(",")),
        openshift_version: Some(version(spec, world)),
        proxy,
        rendezvous_ip: None,
        require_host_keys: Some(world.require_host_keys),
        idle_after: spec.idle_after.clone(),
        warm_spares: spec.warm_spares,
        quiet_hours: spec.quiet_hours.clone(),
        ssh_authorized_key: spec.ssh_authorized_key.clone(),
        static_network_config: Some(world.networks.to_vec()),
    })
}

/// Checks the values that become labels of every Agent: the InfraEnv's name, and `spec.agentLabels`. The API server would refuse each
/// Agent.
///
/// # Errors
/// Names the wrong label. `name`: of the resource.
pub fn check_labels(name: &str, spec: &InfraEnvSpec) -> Result<(), Invalid> {
    if labels::check("name", name).is_err() {
        let why =
            "is a label of every Agent, which may have 63 characters; make an InfraEnv with a shorter name";
        return Err(Invalid::new("name", why));
    }
    for (key, value) in &spec.agent_labels {
        labels::check(key, value).map_err(|why| Invalid::new("agent_labels", why))?;
    }
    Ok(())
}

/// Checks that `wanted` changes no field that cannot be changed.
///
/// # Errors
/// Names the changed field, and what to do instead.
pub fn check_unchangeable(
    found: &Kept,
    wanted: &InfraEnvCreateParams,
    cluster_is_gone: bool,
) -> Result<(), Invalid> {
    let (old, new) = (
        found.settings.cpu_architecture,
        wanted.cpu_architecture.unwrap_or_default().normalized(),
    );
    if old != new {
        return Err(Invalid::new(
            "cpu_architecture",
            format!(
                "cannot be changed from {} to {}: make another InfraEnv for it",
                old.name(),
                new.name()
            ),
        ));
    }
    if found.cluster_id != wanted.cluster_id && !cluster_is_gone {
        return Err(Invalid::new(
            "cluster_id",
            "cannot be changed, for hosts of this InfraEnv belong to the one that it had first, or to none; make another InfraEnv, or bind single Agents with spec.clusterDeploymentName",
        ));
    }
    Ok(())
}

/// The erasure of disks; the default, if the resource has none.
fn cleaning(spec: &InfraEnvSpec) -> Cleaning {
    let given = spec.cleaning.unwrap_or_default();
    Cleaning {
        depth: match given.depth {
            Some(Depth::Full) => CleaningDepth::Full,
            Some(Depth::None) => CleaningDepth::None,
            Some(Depth::Metadata) | None => CleaningDepth::Metadata,
        },
        overwrite: given.overwrite,
        all_disks: given.all_disks,
    }
}

/// The requested version, else the cluster's, else the newest.
fn version(spec: &InfraEnvSpec, world: &World<'_>) -> String {
    let asked = spec.os_image_version.as_deref().filter(|text| !text.is_empty());
    let of_cluster = world
        .cluster
        .map(|cluster| cluster.data.openshift_version.as_str())
        .filter(|text| !text.is_empty());
    asked
        .or(of_cluster)
        .or(world.newest_version)
        .unwrap_or_default()
        .to_owned()
}

/// The arguments; `None` if there are none.
fn kernel_arguments(spec: &InfraEnvSpec) -> Result<Option<Vec<KernelArgument>>, Invalid> {
    let read = |(index, argument): (usize, &muster_resources::KernelArgument)| {
        let operation = serde_json::from_value(json!(argument.operation)).map_err(|_| {
            Invalid::new(
                format!("kernel_arguments[{index}].operation"),
                "is missing; only append is supported for discovery images",
            )
        })?;
        Ok(KernelArgument {
            operation,
            value: argument.value.clone().unwrap_or_default(),
        })
    };
    let list: Vec<_> = spec
        .kernel_arguments
        .iter()
        .enumerate()
        .map(read)
        .collect::<Result<_, Invalid>>()?;
    Ok((!list.is_empty()).then_some(list))
}

/// A value of an enumeration; `None`: the field is not set.
fn word<T: DeserializeOwned>(field: &'static str, text: Option<&str>) -> Result<Option<T>, Invalid> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    // The error lists the possible values.
    serde_json::from_value(Value::String(text.to_owned()))
        .map(Some)
        .map_err(|error| Invalid::new(field, error.to_string()))
}

/// The name of a field in the resource. Errors of core use the names of REST.
pub fn spec_field(field: &str) -> String {
    let (first, rest) = match field.find(['.', '[']) {
        Some(at) => field.split_at(at),
        None => (field, ""),
    };
    let name = match first {
        "pull_secret" => "pullSecretRef".to_owned(),
        "openshift_version" => "osImageVersion".to_owned(),
        "cluster_id" => "clusterRef".to_owned(),
        "additional_ntp_sources" => "additionalNTPSources".to_owned(),
        "name" => return "metadata.name".to_owned(),
        other => camel(other),
    };
    format!("spec.{name}{}", camel(rest))
}

fn camel(text: &str) -> String {
    let mut parts = text.split('_');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}
