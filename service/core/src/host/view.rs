//! Hosts as the API answers them. Source: rest-behaviour.md §1.2 and §3.1; the recorded conversation is the judge.

use std::collections::BTreeMap;

use muster_api::BASE_PATH;
use muster_api::host::{
    Host as HostView, HostProgressInfo, HostRegistrationResponse, HostRole, NextStepRunnerCommand,
};
use muster_api::steps::NextStepRunnerArgs;
use muster_api::time::{NEVER, NEVER_MILLIS, Timestamp, micros, millis};
use serde::Serialize;

use super::{Host, hostname};

/// `last_seen` and `host_clock`: of the last poll in memory, when newer than the record. `user`: the owner's name (`admin`).
pub fn view(host: &Host, last_seen: Option<Timestamp>, host_clock: Option<i64>, user: &str) -> HostView {
    let data = &host.data;
    let labels: BTreeMap<&str, &str> = data
        .node_labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let validations = &data.validations;
    HostView {
        kind: data.kind,
        id: host.id,
        href: format!("{BASE_PATH}/infra-envs/{}/hosts/{}", host.infra_env_id, host.id),
        infra_env_id: host.infra_env_id,
        cluster_id: host.cluster_id,
        status: Some(host.state.status()),
        status_info: Some(data.status_info.clone()),
        status_updated_at: millis(Some(data.status_updated_at)),
        validations_info: json_unless(validations.is_empty(), validations),
        logs_info: String::new(),
        logs_collected_at: NEVER_MILLIS.into(),
        logs_started_at: NEVER_MILLIS.into(),
        progress: Some(HostProgressInfo {
            stage_started_at: NEVER_MILLIS.into(),
            stage_updated_at: NEVER_MILLIS.into(),
            ..HostProgressInfo::default()
        }),
        progress_stages: Some(
            stages(data.role)
                .iter()
                .map(|stage| (*stage).to_owned())
                .collect(),
        ),
        stage_started_at: NEVER_MILLIS.into(),
        stage_updated_at: NEVER_MILLIS.into(),
        connectivity: String::new(),
        api_vip_connectivity: String::new(),
        tang_connectivity: String::new(),
        inventory: host.inventory.as_ref().map(json).unwrap_or_default(),
        free_addresses: String::new(),
        ntp_sources: data.ntp_sources.as_ref().map(json).unwrap_or_default(),
        disks_info: String::new(),
        images_status: String::new(),
        domain_name_resolutions: String::new(),
        role: data.role,
        suggested_role: Some(data.suggested_role),
        bootstrap: false,
        installer_version: String::new(),
        installation_disk_path: data.installation_disk_path.clone(),
        installation_disk_id: data.installation_disk_id.clone(),
        disks_to_be_formatted: data.disks_to_be_formatted.join(","),
        skip_formatting_disks: data.skip_formatting_disks.join(","),
        connection_timed_out: false,
        checked_in_at: millis(Some(
            last_seen.map_or(host.checked_in_at, |seen| seen.max(host.checked_in_at)),
        )),
        registered_at: millis(Some(data.registered_at)),
        created_at: micros(Some(data.created_at)),
        updated_at: micros(Some(data.updated_at)),
        deleted_at: None,
        discovery_agent_version: data.discovery_agent_version.clone(),
        requested_hostname: hostname::display(host),
        user_name: user.to_owned(),
        media_status: data.media_status,
        ignition_config_overrides: String::new(),
        installer_args: String::new(),
        timestamp: host_clock.filter(|clock| *clock != 0).unwrap_or(data.timestamp),
        machine_config_pool_name: data.machine_config_pool_name.clone(),
        ignition_endpoint_token_set: !data.ignition_endpoint_token.is_empty(),
        node_labels: json_unless(labels.is_empty(), &labels),
    }
}

/// The answer (201) to a first registration. `told_agent_version`: see
/// [`told_agent_version`](super::agent_version::told_agent_version).
pub fn registration_view(host: &Host, told_agent_version: &str, user: &str) -> HostRegistrationResponse {
    let host_view = HostView {
        progress: None,
        created_at: NEVER.into(),
        updated_at: NEVER.into(),
        ..view(host, None, None, user)
    };
    with_command(host, host_view, told_agent_version)
}

/// The answer (201) to a repeated registration. The protocol makes it from fresh values and not from the record: status
/// null, default role, no name (host-lifecycle.md §3.1).
pub fn repeated_registration_view(
    host: &Host,
    told_agent_version: &str,
    user: &str,
) -> HostRegistrationResponse {
    let fresh = HostView {
        status: None,
        status_info: None,
        status_updated_at: NEVER_MILLIS.into(),
        validations_info: String::new(),
        progress: None,
        progress_stages: Some(Vec::new()),
        inventory: String::new(),
        ntp_sources: String::new(),
        role: HostRole::AutoAssign,
        suggested_role: Some(HostRole::AutoAssign),
        installation_disk_path: String::new(),
        installation_disk_id: String::new(),
        disks_to_be_formatted: String::new(),
        skip_formatting_disks: String::new(),
        created_at: NEVER.into(),
        updated_at: NEVER.into(),
        requested_hostname: host.id.to_string(),
        media_status: None,
        timestamp: 0,
        machine_config_pool_name: String::new(),
        ignition_endpoint_token_set: false,
        node_labels: String::new(),
        ..view(host, None, None, user)
    };
    with_command(host, fresh, told_agent_version)
}

fn with_command(host: &Host, host_view: HostView, told_agent_version: &str) -> HostRegistrationResponse {
    let args = NextStepRunnerArgs {
        agent_version: told_agent_version.to_owned(),
        host_id: host.id,
        infra_env_id: host.infra_env_id,
    };
    HostRegistrationResponse {
        host: host_view,
        next_step_runner_command: Some(NextStepRunnerCommand {
            command: String::new(),
            args: vec![json(&args)],
            retry_seconds: 0,
        }),
    }
}

/// The stages that an installation of this role goes through. Source: host-lifecycle.md §5.
fn stages(role: HostRole) -> &'static [&'static str] {
    match role {
        HostRole::AutoAssign => &[],
        HostRole::Master | HostRole::Arbiter => &[
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Copying registry data to disk",
            "Rebooting",
            "Configuring",
            "Joined",
            "Done",
        ],
        HostRole::Worker => &[
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Waiting for control plane",
            "Rebooting",
            "Waiting for ignition",
            "Configuring",
            "Joined",
            "Done",
        ],
        HostRole::Bootstrap => &[
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Copying registry data to disk",
            "Waiting for control plane",
            "Waiting for bootkube",
            "Waiting for controller",
            "Rebooting",
            "Configuring",
            "Joined",
            "Done",
        ],
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("these types have text keys and finite numbers, so they are JSON")
}

fn json_unless<T: Serialize>(empty: bool, value: &T) -> String {
    if empty { String::new() } else { json(value) }
}
