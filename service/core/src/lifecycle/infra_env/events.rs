//! Events about InfraEnvs. Names and severities follow docs/protocol/events.tsv, `muster_...` are ours; so is the wording.

use muster_api::event::{Category, Severity};
use muster_api::ids::InfraEnvId;
use muster_api::time::Timestamp;
use serde_json::{Map, Value};

use super::unapplied::Unapplied;
use crate::record::{InfraEnv, MAX_MESSAGE, NewEvent};
use crate::text::cut;

fn about(id: InfraEnvId, name: &'static str, severity: Severity, message: &str, now: Timestamp) -> NewEvent {
    NewEvent {
        name: name.into(),
        severity,
        category: Category::User,
        message: cut(message, MAX_MESSAGE).to_owned(),
        props: Map::new(),
        host_id: None,
        infra_env_id: Some(id),
        cluster_id: None,
        at: now,
    }
}

/// The events about a new InfraEnv.
pub fn created_events(infra_env: &InfraEnv, now: Timestamp) -> Vec<NewEvent> {
    let message = format!("InfraEnv {} was made", infra_env.name);
    let mut events = vec![
        about(
            infra_env.id,
            "infra_env_registered",
            Severity::Info,
            &message,
            now,
        ),
        image_info_updated(infra_env, now),
    ];
    events.extend(unapplied_by_live_image(infra_env, now));
    events
}

/// The settings of the discovery image have changed.
pub fn image_info_updated(infra_env: &InfraEnv, now: Timestamp) -> NewEvent {
    let settings = &infra_env.settings;
    let is_set = |set: bool| if set { "set" } else { "not set" };
    let proxy = &settings.proxy;
    let message = format!(
        "Image settings of InfraEnv {}: type {}, proxy {}, time sources {}, static network {}, SSH keys {}, Ignition override {}",
        infra_env.name,
        settings.image_type.name(),
        is_set(proxy.http_proxy.is_some() || proxy.https_proxy.is_some()),
        is_set(!infra_env.ntp_source_list().is_empty()),
        is_set(!settings.static_network_config.is_empty()),
        is_set(!settings.ssh_authorized_key.is_empty()),
        is_set(!settings.ignition_config_override.is_empty()),
    );
    NewEvent {
        cluster_id: infra_env.cluster_id,
        ..about(infra_env.id, "image_info_updated", Severity::Info, &message, now)
    }
}

/// Name of the events about settings that the Muster live image cannot apply.
pub const NOT_APPLIED: &str = "muster_setting_not_applied";

/// The Muster live image cannot apply a setting.
pub(super) fn not_applied(infra_env: &InfraEnv, setting: Unapplied, now: Timestamp) -> NewEvent {
    let message = format!(
        "InfraEnv {}: {} has no effect on hosts that boot the Muster live image: {}",
        infra_env.name,
        setting.field(),
        setting.why(&infra_env.settings)
    );
    let mut event = about(infra_env.id, NOT_APPLIED, Severity::Warning, &message, now);
    event
        .props
        .insert("setting".into(), Value::String(setting.field().into()));
    event
}

/// An InfraEnv could not be created.
pub fn registration_failed(id: InfraEnvId, why: &str, now: Timestamp) -> NewEvent {
    let message = format!("The InfraEnv could not be made: {why}");
    about(
        id,
        "infra_env_registration_failed",
        Severity::Error,
        &message,
        now,
    )
}

/// An InfraEnv was deleted.
pub fn deregistered(infra_env: &InfraEnv, now: Timestamp) -> NewEvent {
    let message = format!("InfraEnv {} was deleted", infra_env.name);
    about(
        infra_env.id,
        "infra_env_deregistered",
        Severity::Info,
        &message,
        now,
    )
}

/// An InfraEnv could not be deleted.
pub fn deregister_failed(infra_env: &InfraEnv, why: &str, now: Timestamp) -> NewEvent {
    let message = format!("InfraEnv {} could not be deleted: {why}", infra_env.name);
    about(
        infra_env.id,
        "infra_env_deregister_failed",
        Severity::Error,
        &message,
        now,
    )
}

/// An event (warning) for each setting of `infra_env` that the live image cannot apply.
pub fn unapplied_by_live_image(infra_env: &InfraEnv, now: Timestamp) -> Vec<NewEvent> {
    Unapplied::ALL
        .iter()
        .copied()
        .filter(|setting| setting.is_set(&infra_env.settings))
        .map(|setting| not_applied(infra_env, setting, now))
        .collect()
}
