//! Computes the resource that shows a record made by REST.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use muster_api::infra_env::{Cleaning, CleaningDepth, HostStaticNetworkConfig};
use muster_controller::references::owner_reference;
use muster_core::record::{InfraEnv as Kept, KubeRef, Settings};
use muster_resources::names::{finalizer, label};
use muster_resources::{
    CleaningDepth as Depth, InfraEnv, InfraEnvCleaning, InfraEnvSpec, LocalReference, NMStateConfig,
    NMStateConfigInterface, NMStateConfigSpec, Proxy,
};
use serde_json::{Value, json};

use crate::agent::desired::reference;

/// Returns the resource of a record that has none yet; its Secret and its NMStateConfigs are created when it is reconciled.
///
/// `cluster`: the ClusterDeployment of the cluster that its hosts belong to.
pub fn resource(name: &KubeRef, record: &Kept, cluster: Option<&KubeRef>) -> InfraEnv {
    let bare = InfraEnvSpec {
        pull_secret_ref: LocalReference {
            name: format!("{}-pull-secret", name.name),
        },
        cluster_ref: cluster.map(reference),
        ..InfraEnvSpec::default()
    };
    let mut resource = InfraEnv::new(&name.name, shown(&record.settings, &bare));
    resource.metadata.namespace = Some(name.namespace.clone());
    resource.metadata.labels = Some([(label::MIRROR_OF.to_owned(), record.id.to_string())].into());
    resource.metadata.finalizers = Some(vec![finalizer::INFRA_ENV.to_owned()]);
    resource
}

/// The spec that shows `settings`; fields without a setting are as in `before`.
pub fn shown(settings: &Settings, before: &InfraEnvSpec) -> InfraEnvSpec {
    let list = |text: &str| -> Vec<String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let proxy = Proxy {
        http_proxy: settings.proxy.http_proxy.clone(),
        https_proxy: settings.proxy.https_proxy.clone(),
        no_proxy: settings.proxy.no_proxy.clone(),
    };
    let arguments = settings.kernel_arguments.iter().flatten();
    InfraEnvSpec {
        ssh_authorized_key: text(&settings.ssh_authorized_key),
        proxy: Some(proxy).filter(|proxy| *proxy != Proxy::default()),
        additional_ntp_sources: list(&settings.additional_ntp_sources),
        ntp_sources: list(&settings.ntp_sources),
        additional_trust_bundle: text(&settings.additional_trust_bundle),
        ignition_config_override: text(&settings.ignition_config_override),
        kernel_arguments: arguments
            .filter_map(|argument| serde_json::from_value(json!(argument)).ok())
            .collect(),
        cpu_architecture: settings.cpu_architecture.name().to_owned(),
        image_type: serde_json::from_value(json!(settings.image_type)).ok(),
        os_image_version: text(&settings.openshift_version),
        network_discovery_delay_seconds: settings.network_discovery_delay_seconds,
        cleaning: cleaning(settings.cleaning),
        idle_after: text(&settings.idle_after),
        warm_spares: settings.warm_spares,
        quiet_hours: text(&settings.quiet_hours),
        ..before.clone()
    }
}

/// `None` for the default.
fn cleaning(settings: Cleaning) -> Option<InfraEnvCleaning> {
    let depth = match settings.depth {
        CleaningDepth::Metadata => Depth::Metadata,
        CleaningDepth::Full => Depth::Full,
        CleaningDepth::None => Depth::None,
    };
    (settings != Cleaning::default()).then_some(InfraEnvCleaning {
        depth: Some(depth),
        overwrite: settings.overwrite,
        all_disks: settings.all_disks,
    })
}

/// Selects the NMStateConfigs of [`network_objects`].
pub fn selector(infra_env: &InfraEnv) -> LabelSelector {
    LabelSelector {
        match_labels: Some([(label::MIRRORED_NETWORK.to_owned(), infra_env.name_any())].into()),
        ..LabelSelector::default()
    }
}

/// Returns one NMStateConfig for each host, in the order of the hosts.
pub fn network_objects(infra_env: &InfraEnv, hosts: &[HostStaticNetworkConfig]) -> Vec<NMStateConfig> {
    let object = |(index, host): (usize, &HostStaticNetworkConfig)| NMStateConfig {
        metadata: ObjectMeta {
            name: Some(format!("{}-{index:04}", infra_env.name_any())),
            namespace: infra_env.namespace(),
            labels: selector(infra_env).match_labels,
            owner_references: Some(vec![owner_reference(infra_env)]),
            ..ObjectMeta::default()
        },
        spec: network(host),
    };
    hosts.iter().enumerate().map(object).collect()
}

fn network(host: &HostStaticNetworkConfig) -> NMStateConfigSpec {
    // REST has checked that the document is a mapping.
    let document = host.network_yaml.as_deref();
    let document = document.and_then(|text| serde_saphyr::from_str::<Value>(text).ok());
    let interfaces = host.mac_interface_map.iter().map(|card| NMStateConfigInterface {
        name: card.logical_nic_name.clone().unwrap_or_default(),
        mac_address: card.mac_address.clone().unwrap_or_default(),
    });
    NMStateConfigSpec {
        interfaces: interfaces.collect(),
        config: document.and_then(|document| document.as_object().cloned()),
    }
}
