//! Shows hosts as the API returns them. Source: docs/protocol/rest-behaviour.md#1.2 and §3.1; the recorded conversation
//! decides.

mod health;

use std::collections::BTreeMap;

use muster_api::BASE_PATH;
use muster_api::host::{
    Host as HostView, HostCleaned, HostCleanedDisk, HostCleaning, HostFailures, HostKind, HostProgressInfo,
    HostRegistrationResponse, HostRole, HostSleep, NextStepRunnerCommand,
};
use muster_api::steps::{ApiVipConnectivityResponse, NextStepRunnerArgs};
use muster_api::time::{NEVER, NEVER_MILLIS, Timestamp, micros, millis};
use serde::Serialize;

use self::health::shown_health;
use crate::json::to_json;
use crate::record::{
    Cleaned, CleanedDisk, Cleaning, Failures, Host, HostTexts, Progress, Sleep, SleepCause, SleepStage,
    WakeCause,
};
use crate::rules::checks::without_secrets;
use crate::rules::sleep::Power;
use crate::rules::{cleaning, failures, hostname, stages};

/// Facts that a view needs in addition to the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown<'a> {
    /// The last poll in memory, when newer than the record.
    pub last_seen: Option<Timestamp>,
    /// The host's clock at that poll.
    pub host_clock: Option<i64>,
    /// The owner's name (`admin`).
    pub user: &'a str,
    /// As [`HostFacts::kube`](crate::rules::facts::HostFacts): decides which stages an installation has.
    pub kube: bool,
    /// True: includes what only the operator may read.
    pub secrets: bool,
}

/// The host as `GET` returns it.
pub fn view(host: &Host, shown: Shown<'_>) -> HostView {
    listed_view(host, HostTexts::of(host), shown)
}

/// The same view of a host that was read without its documents; `texts` are their texts.
pub fn listed_view(host: &Host, texts: HostTexts, shown: Shown<'_>) -> HostView {
    let Shown {
        last_seen,
        host_clock,
        user,
        kube,
        secrets,
    } = shown;
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
        logs_info: data.logs.info.name().to_owned(),
        logs_collected_at: millis(data.logs.collected_at),
        logs_started_at: millis(data.logs.started_at),
        progress: Some(progress(data.progress.as_ref())),
        progress_stages: Some(progress_stages(data.role, data.kind, kube)),
        stage_started_at: NEVER_MILLIS.into(),
        stage_updated_at: NEVER_MILLIS.into(),
        connectivity: texts.connectivity,
        api_vip_connectivity: data
            .api_vip_connectivity
            .as_ref()
            .map(api_vip_connectivity)
            .unwrap_or_default(),
        tang_connectivity: data.tang_connectivity.clone(),
        inventory: texts.inventory,
        free_addresses: texts.free_addresses,
        ntp_sources: data.ntp_sources.as_ref().map(to_json).unwrap_or_default(),
        disks_info: json_unless(data.disks_info.is_empty(), &data.disks_info),
        images_status: json_unless(data.images_status.is_empty(), &data.images_status),
        domain_name_resolutions: data
            .domain_name_resolutions
            .as_ref()
            .map(to_json)
            .unwrap_or_default(),
        role: data.role,
        suggested_role: (!host.state.is_leaving()).then_some(data.suggested_role),
        bootstrap: data.bootstrap,
        installer_version: data.installer_version.clone(),
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
        ignition_config_overrides: if secrets {
            data.ignition_config_overrides.reveal().to_owned()
        } else {
            String::new()
        },
        installer_args: json_unless(data.installer_args.is_empty(), &data.installer_args),
        timestamp: host_clock.filter(|clock| *clock != 0).unwrap_or(data.timestamp),
        machine_config_pool_name: data.machine_config_pool_name.clone(),
        ignition_endpoint_token_set: !data.ignition_endpoint_token.is_empty(),
        node_labels: json_unless(labels.is_empty(), &labels),
        findings: data.findings.clone(),
        os_image: data.os_image.clone(),
        failures: data.failures.as_ref().map(shown_failures),
        cleaning: data.cleaning.as_ref().map(shown_cleaning),
        cleaned: data.cleaned.iter().map(shown_cleaned).collect(),
        sleep: data.sleep.as_ref().map(|sleep| shown_sleep(host, sleep)),
        health: data.health.as_ref().map(shown_health),
    }
}

/// Without the end of a stage, which depends on more than the record: `status_info` and findings name it.
fn shown_sleep(host: &Host, sleep: &Sleep) -> HostSleep {
    let (stage, since) = stage_of_sleep(sleep);
    HostSleep {
        stage: stage.to_owned(),
        since: millis(Some(since)),
        bmc: sleep.bmc.clone(),
        reason: reason_of_sleep(sleep),
        inventory_of: millis(Some(host.data.registered_at)),
    }
}

/// The stage by its name on the wire, and its begin.
pub fn stage_of_sleep(sleep: &Sleep) -> (&'static str, Timestamp) {
    let since = match &sleep.stage {
        SleepStage::Falling => sleep.asked_at,
        SleepStage::Asleep { since } => *since,
        SleepStage::Waking(waking) => waking.asked_at,
        SleepStage::DidNotWake { at, .. } => *at,
    };
    (Power::of(Some(sleep)).word(), since)
}

/// Why a host sleeps, is woken or did not wake, as a sentence for users.
pub fn reason_of_sleep(sleep: &Sleep) -> String {
    match &sleep.stage {
        SleepStage::Falling | SleepStage::Asleep { .. } => match sleep.cause {
            SleepCause::Idle => "No machine took it for the time that its InfraEnv names".to_owned(),
            SleepCause::Person => "A person requested it".to_owned(),
        },
        SleepStage::Waking(waking) => match waking.cause {
            WakeCause::Claim => "It was bound to a cluster".to_owned(),
            WakeCause::Spare => "Too few hosts of its InfraEnv are awake".to_owned(),
            WakeCause::Person => "A person requested that it wakes".to_owned(),
        },
        SleepStage::DidNotWake { reason, .. } => format!("It did not wake: {reason}"),
    }
}

fn shown_cleaning(pending: &Cleaning) -> HostCleaning {
    HostCleaning {
        stage: cleaning::stage_name(&pending.stage).to_owned(),
        message: cleaning::describe(pending),
        since: millis(Some(pending.since)),
        until: cleaning::until(pending).map(|until| millis(Some(until))),
        attempt: pending.attempt,
        settings: pending.settings,
        disks: pending.disks.iter().map(shown_disk).collect(),
    }
}

fn shown_cleaned(cleaned: &Cleaned) -> HostCleaned {
    HostCleaned {
        at: millis(Some(cleaned.at)),
        outcome: cleaning::outcome_name(cleaned.outcome).to_owned(),
        message: cleaning::describe_end(cleaned),
        settings: cleaned.settings,
        disks: cleaned.disks.iter().map(shown_disk).collect(),
    }
}

fn shown_disk(known: &CleanedDisk) -> HostCleanedDisk {
    let disk = &known.disk;
    HostCleanedDisk {
        id: disk.id.clone(),
        name: disk.name.clone(),
        serial: disk.serial.clone(),
        wwn: disk.wwn.clone(),
        size_bytes: disk.size_bytes,
        was_written: disk.is_written,
        is_present: known.is_present,
        report: known.report.clone(),
    }
}

fn shown_failures(failed: &Failures) -> HostFailures {
    let is_quarantined = failures::is_quarantined(failed);
    HostFailures {
        count: failed.count,
        last_at: millis(Some(failed.last_at)),
        stage: failed.stage.clone(),
        message: failed.message.clone(),
        not_before: (!is_quarantined).then(|| millis(Some(failures::until(failed)))),
        quarantined: is_quarantined,
    }
}

/// Records of earlier versions hold the whole ignition.
fn api_vip_connectivity(report: &ApiVipConnectivityResponse) -> String {
    to_json(&ApiVipConnectivityResponse {
        ignition: without_secrets(&report.ignition),
        ..report.clone()
    })
}

fn progress(progress: Option<&Progress>) -> HostProgressInfo {
    let Some(progress) = progress else {
        return HostProgressInfo {
            stage_started_at: NEVER_MILLIS.into(),
            stage_updated_at: NEVER_MILLIS.into(),
            ..HostProgressInfo::default()
        };
    };
    HostProgressInfo {
        current_stage: progress.stage.name().to_owned(),
        installation_percentage: progress.percentage,
        progress_info: progress.info.clone(),
        stage_timed_out: false,
        stage_started_at: millis(Some(progress.stage_started_at)),
        stage_updated_at: millis(Some(progress.stage_updated_at)),
    }
}

/// Stages by the given role, not by the suggested one.
fn progress_stages(role: HostRole, kind: HostKind, kube: bool) -> Vec<String> {
    stages::of(role, kind, kube)
        .iter()
        .map(|stage| stage.name().to_owned())
        .collect()
}

/// The response (201) to a first registration. `told_agent_version`: see
/// [`told_agent_version`](super::agent_version::told_agent_version).
pub fn registration_view(
    host: &Host,
    answered_agent_version: &str,
    shown: Shown<'_>,
) -> HostRegistrationResponse {
    let host_view = HostView {
        progress: None,
        created_at: NEVER.into(),
        updated_at: NEVER.into(),
        ..view(host, shown)
    };
    with_command(host, host_view, answered_agent_version)
}

/// The response (201) to a repeated registration. The protocol makes it from fresh values and not from the record:
/// status null, default role, no name (docs/protocol/host-lifecycle.md#3.1).
pub fn repeated_registration_view(
    host: &Host,
    answered_agent_version: &str,
    shown: Shown<'_>,
) -> HostRegistrationResponse {
    let role = match host.data.kind {
        HostKind::Host => HostRole::AutoAssign,
        HostKind::AddToExistingClusterHost => HostRole::Worker,
    };
    let fresh = HostView {
        status: None,
        status_info: None,
        status_updated_at: NEVER_MILLIS.into(),
        validations_info: String::new(),
        progress: None,
        progress_stages: Some(progress_stages(role, host.data.kind, shown.kube)),
        logs_info: String::new(),
        logs_collected_at: NEVER_MILLIS.into(),
        logs_started_at: NEVER_MILLIS.into(),
        connectivity: String::new(),
        api_vip_connectivity: String::new(),
        tang_connectivity: String::new(),
        free_addresses: String::new(),
        disks_info: String::new(),
        images_status: String::new(),
        domain_name_resolutions: String::new(),
        installer_version: String::new(),
        ignition_config_overrides: String::new(),
        installer_args: String::new(),
        findings: Vec::new(),
        os_image: None,
        failures: None,
        cleaning: None,
        cleaned: Vec::new(),
        health: None,
        inventory: String::new(),
        ntp_sources: String::new(),
        role,
        suggested_role: Some(role),
        installation_disk_path: String::new(),
        installation_disk_id: String::new(),
        disks_to_be_formatted: String::new(),
        skip_formatting_disks: String::new(),
        created_at: NEVER.into(),
        updated_at: NEVER.into(),
        requested_hostname: host.id.to_string(),
        media_status: None,
        timestamp: 0,
        machine_config_pool_name: match host.data.kind {
            HostKind::Host => String::new(),
            HostKind::AddToExistingClusterHost => role.name().to_owned(),
        },
        ignition_endpoint_token_set: false,
        node_labels: String::new(),
        ..view(host, shown)
    };
    with_command(host, fresh, answered_agent_version)
}

fn with_command(host: &Host, host_view: HostView, answered_agent_version: &str) -> HostRegistrationResponse {
    let args = NextStepRunnerArgs {
        agent_version: answered_agent_version.to_owned(),
        host_id: host.id,
        infra_env_id: host.infra_env_id,
    };
    HostRegistrationResponse {
        host: host_view,
        next_step_runner_command: Some(NextStepRunnerCommand {
            command: String::new(),
            args: vec![to_json(&args)],
            retry_seconds: 0,
        }),
    }
}

fn json_unless<T: Serialize>(empty: bool, value: &T) -> String {
    if empty { String::new() } else { to_json(value) }
}
