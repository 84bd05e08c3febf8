//! Creates an InfraEnv.

use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{InfraEnvCreateParams, InfraEnvUpdateParams};
use muster_api::time::Timestamp;

use super::update::apply;
use crate::record::{InfraEnv, Settings};
use crate::rules::ignition;
use crate::rules::input::{self, Invalid};
use crate::rules::live_network;

/// Creates an InfraEnv from `params`. Its events: [`created_events`](super::events::created_events). The caller has
/// checked that the cluster exists.
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn create(
    params: InfraEnvCreateParams,
    id: InfraEnvId,
    boot_id: String,
    now: Timestamp,
) -> Result<InfraEnv, Invalid> {
    input::name(&params.name)?;
    // In an update an empty pull secret keeps the old one; a new InfraEnv has none to keep.
    input::pull_secret(&params.pull_secret)?;
    let mut settings = Settings {
        cpu_architecture: params.cpu_architecture.unwrap_or_default().normalized(),
        ..Settings::default()
    };
    let rest = InfraEnvUpdateParams {
        additional_ntp_sources: params.additional_ntp_sources,
        additional_trust_bundle: params.additional_trust_bundle,
        cleaning: params.cleaning,
        ignition_config_override: params.ignition_config_override,
        image_type: params.image_type,
        kernel_arguments: params.kernel_arguments,
        network_discovery_delay_seconds: params.network_discovery_delay_seconds,
        ntp_sources: params.ntp_sources,
        offered_to: None,
        openshift_version: params.openshift_version,
        proxy: params.proxy,
        pull_secret: Some(params.pull_secret),
        rendezvous_ip: params.rendezvous_ip,
        require_host_keys: params.require_host_keys,
        idle_after: params.idle_after,
        warm_spares: params.warm_spares,
        quiet_hours: params.quiet_hours,
        ssh_authorized_key: params.ssh_authorized_key,
        static_network_config: params.static_network_config,
    };
    apply(&mut settings, rest)?;
    let infra_env = InfraEnv {
        id,
        name: params.name,
        cluster_id: params.cluster_id,
        kube: None,
        mirror: None,
        boot_id,
        version: 0,
        created_at: now,
        updated_at: now,
        settings,
    };
    ignition::check_size(&infra_env)?;
    live_network::check_size(&infra_env.settings)?;
    Ok(infra_env)
}
