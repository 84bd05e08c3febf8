//! Shows InfraEnvs as the API returns them; the recorded conversation decides the shape.

use muster_api::BASE_PATH;
use muster_api::infra_env::{InfraEnv as InfraEnvView, no_pull_secret};
use muster_api::time::{Timestamp, micros, millis};
use serde::Serialize;

use crate::json::to_json;
use crate::record::{InfraEnv, Secret};

/// Returns the view. `expires`: when `download_url` stops working; `None` if it does not. `user`: the owner's name
/// (`admin`).
pub fn view(
    infra_env: &InfraEnv,
    download_url: &str,
    expires: Option<Timestamp>,
    user: &str,
) -> InfraEnvView {
    let settings = &infra_env.settings;
    InfraEnvView {
        kind: "InfraEnv".into(),
        id: infra_env.id,
        href: format!("{BASE_PATH}/infra-envs/{}", infra_env.id),
        name: infra_env.name.clone(),
        image_type: settings.image_type,
        cpu_architecture: settings.cpu_architecture,
        openshift_version: settings.openshift_version.clone(),
        user_name: user.to_owned(),
        email_domain: "Unknown".into(),
        cluster_id: infra_env.cluster_id,
        proxy: settings.proxy.clone(),
        additional_ntp_sources: settings.additional_ntp_sources.clone(),
        ntp_sources: settings.ntp_sources.clone(),
        ssh_authorized_key: settings.ssh_authorized_key.clone(),
        pull_secret_set: is_given(&settings.pull_secret),
        static_network_config: list_text(&settings.static_network_config).unwrap_or_default(),
        rendezvous_ip: settings.rendezvous_ip.clone(),
        require_host_keys: settings.require_host_keys,
        cleaning: settings.cleaning,
        idle_after: settings.idle_after.clone(),
        warm_spares: settings.warm_spares,
        quiet_hours: settings.quiet_hours.clone(),
        offered_to: settings
            .offered_to
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        ignition_config_override: settings.ignition_config_override.clone(),
        kernel_arguments: settings.kernel_arguments.as_deref().and_then(list_text),
        additional_trust_bundle: settings.additional_trust_bundle.clone(),
        network_discovery_delay_seconds: settings.network_discovery_delay_seconds,
        size_bytes: 0,
        download_url: download_url.to_owned(),
        generator_version: String::new(),
        created_at: micros(Some(infra_env.created_at)),
        updated_at: micros(Some(infra_env.updated_at)),
        expires_at: millis(expires),
    }
}

/// False for the one that an InfraEnv has which was made without a pull secret.
fn is_given(pull_secret: &Secret) -> bool {
    !pull_secret.is_empty() && pull_secret.reveal() != no_pull_secret()
}

/// `None` for an empty list.
fn list_text<T: Serialize>(list: &[T]) -> Option<String> {
    (!list.is_empty()).then(|| to_json(list))
}
