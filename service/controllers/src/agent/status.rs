//! Computes an Agent's status from its host. Source: docs/protocol/kube-controllers.md#4.3 and recorded
//! objects.

pub mod cleaning;
pub mod conditions;
pub mod inventory;
pub(super) mod links;
pub(super) mod wait;
mod words;

use muster_api::host::HostKind;
use muster_api::steps::NtpSourceState;
use muster_api::time::Timestamp;
use muster_api::validation::ValidationStatus;
use muster_controller::conditions::{Synced, set, time};
use muster_core::lifecycle::host::{reason_of_sleep, stage_of_sleep};
use muster_core::record::{Failures, Host, HostData, Phase, Sleep, SleepStage};
use muster_core::rules::{failures, stages};
use muster_resources::{
    AgentDebugInfo, AgentFailures, AgentSleep, AgentStatus, Condition, DeprovisionInfo, HostProgress,
    NtpSource, ValidationResult, ValidationsInfo,
};

use crate::join::awaited::Awaited;
use conditions::DesiredCondition;

/// Inputs of a status.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    pub host: &'a Host,
    /// `spec.approved`.
    pub approved: bool,
    pub synced: &'a Synced,
    /// The reason why a host that is ready is not installed yet.
    pub waits: Option<&'a str>,
    /// Address of the host's events, while it is bound.
    pub events_url: Option<&'a str>,
    /// Address of its logs, when there are some.
    pub logs_url: Option<&'a str>,
    /// The cluster that the host is just leaving.
    pub left: Option<&'a DeprovisionInfo>,
    /// The wait for its cluster, while its node is joining.
    pub awaited: Option<&'a Awaited>,
}

/// Returns the status that follows `before`.
///
/// A host that waits for its agent (on its way into a cluster, or rebooted) has reported nothing yet: its earlier
/// reports stay. So `inventory` and `ntpSources` are never removed.
pub fn of_host(inputs: &Inputs<'_>, before: &AgentStatus, now: Timestamp) -> AgentStatus {
    let (host, data) = (inputs.host, &inputs.host.data);
    let mut desired = conditions::with_awaited(
        conditions::of_host(host, inputs.approved, inputs.synced, inputs.waits),
        inputs.awaited,
    );
    desired.extend(conditions::network(host, before));
    AgentStatus {
        bootstrap: data.bootstrap.then_some(true),
        role: Some(data.effective_role().name().to_owned()),
        inventory: host
            .inventory
            .as_deref()
            .map(inventory::shown)
            .or_else(|| before.inventory.clone()),
        // A progress that was set becomes empty and is not removed, as upstream.
        progress: progress(data).or_else(|| before.progress.as_ref().map(|_| HostProgress::default())),
        ntp_sources: ntp_sources(data).unwrap_or_else(|| before.ntp_sources.clone()),
        conditions: merged(&before.conditions, desired, now),
        debug_info: Some(AgentDebugInfo {
            events_url: kept(inputs.events_url, before, |info| &info.events_url),
            logs_url: kept(inputs.logs_url, before, |info| &info.logs_url),
            state: Some(host.state.status().name().to_owned()),
            state_info: Some(state_info(data)),
        }),
        failures: data.failures.as_ref().map(shown_failures),
        cleaning: cleaning::shown(data),
        sleep: data.sleep.as_ref().map(|sleep| shown_sleep(host, sleep)),
        validations_info: validations(data),
        installation_disk_id: Some(data.installation_disk_id.clone()).filter(|id| !id.is_empty()),
        kind: Some(kind(data.kind).to_owned()),
        // Certificates of an earlier installation are not the next node's.
        csr_status: before
            .csr_status
            .clone()
            .filter(|_| inputs.left.is_none() && host.state.phase() != Phase::PreInstall),
        // Set where it is written.
        observed_generation: before.observed_generation,
        deprovision_info: inputs
            .left
            .or(before.deprovision_info.as_ref())
            .filter(|_| host.state.is_leaving())
            .cloned(),
    }
}

/// The status of an Agent without a host: only conditions change.
pub fn without_host(synced: &Synced, before: &AgentStatus, now: Timestamp) -> AgentStatus {
    AgentStatus {
        conditions: merged(&before.conditions, conditions::without_host(synced), now),
        ..before.clone()
    }
}

/// The status of an Agent that is deleted, while its host is on its way back.
pub fn coming_back(host: &Host, before: &AgentStatus, now: Timestamp) -> AgentStatus {
    let info = &host.data.status_info;
    AgentStatus {
        conditions: merged(&before.conditions, vec![conditions::reclaiming(info)], now),
        debug_info: Some(AgentDebugInfo {
            state: Some(host.state.status().name().to_owned()),
            state_info: Some(info.clone()),
            ..before.debug_info.clone().unwrap_or_default()
        }),
        ..before.clone()
    }
}

/// The status of an Agent after its host could not be deleted.
pub fn not_cleaned_up(why: &str, before: &AgentStatus, now: Timestamp) -> AgentStatus {
    AgentStatus {
        conditions: merged(&before.conditions, vec![conditions::cleanup_failed(why)], now),
        ..before.clone()
    }
}

fn kind(kind: HostKind) -> &'static str {
    match kind {
        HostKind::Host => "Host",
        HostKind::AddToExistingClusterHost => "AddToExistingClusterHost",
    }
}

fn kept<'a>(
    fresh: Option<&str>,
    before: &'a AgentStatus,
    field: impl Fn(&'a AgentDebugInfo) -> &'a Option<String>,
) -> Option<String> {
    fresh
        .map(str::to_owned)
        .or_else(|| before.debug_info.as_ref().and_then(|info| field(info).clone()))
}

/// The reason for the state, and the failures that count against the host.
fn state_info(data: &HostData) -> String {
    match &data.failures {
        None => data.status_info.clone(),
        Some(failed) => format!("{}. {}", data.status_info, failures::describe(failed)),
    }
}

fn shown_failures(failed: &Failures) -> AgentFailures {
    let is_quarantined = failures::is_quarantined(failed);
    AgentFailures {
        count: Some(failed.count.into()),
        last_time: Some(time(failed.last_at)),
        message: Some(failures::describe(failed)),
        until_time: (!is_quarantined).then(|| time(failures::until(failed))),
        quarantined: is_quarantined,
    }
}

fn shown_sleep(host: &Host, sleep: &Sleep) -> AgentSleep {
    let (_, since) = stage_of_sleep(sleep);
    let stage = match &sleep.stage {
        SleepStage::Falling => "FallingAsleep",
        SleepStage::Asleep { .. } => "Asleep",
        SleepStage::Waking(_) => "Waking",
        SleepStage::DidNotWake { .. } => "DidNotWake",
    };
    AgentSleep {
        stage: Some(stage.to_owned()),
        since_time: Some(time(since)),
        message: Some(format!("{}; by its BMC {}", reason_of_sleep(sleep), sleep.bmc)),
        inventory_time: Some(time(host.data.registered_at)),
    }
}

fn progress(data: &HostData) -> Option<HostProgress> {
    let progress = data.progress.as_ref()?;
    let stages = stages::of(data.effective_role(), data.kind, true);
    Some(HostProgress {
        current_stage: Some(progress.stage.name().to_owned()),
        progress_info: Some(progress.info.clone()).filter(|info| !info.is_empty()),
        installation_percentage: Some(progress.percentage).filter(|percentage| *percentage != 0),
        stage_start_time: Some(time(progress.stage_started_at)),
        stage_update_time: Some(time(progress.stage_updated_at)),
        progress_stages: stages.iter().map(|stage| stage.name().to_owned()).collect(),
    })
}

fn ntp_sources(data: &HostData) -> Option<Vec<NtpSource>> {
    let sources = data.ntp_sources.as_ref()?;
    let shown = sources.iter().map(|source| NtpSource {
        source_name: Some(source.source_name.clone()).filter(|name| !name.is_empty()),
        source_state: source.source_state.map(|state| ntp_state(state).to_owned()),
    });
    Some(shown.collect())
}

fn ntp_state(state: NtpSourceState) -> &'static str {
    match state {
        NtpSourceState::Synced => "synced",
        NtpSourceState::Combined => "combined",
        NtpSourceState::NotCombined => "not_combined",
        NtpSourceState::Error => "error",
        NtpSourceState::Variable => "variable",
        NtpSourceState::Unreachable => "unreachable",
    }
}

fn validations(data: &HostData) -> ValidationsInfo {
    let shown = |check: &muster_api::validation::ValidationResult| ValidationResult {
        id: check.id.clone(),
        message: check.message.clone(),
        status: outcome(check.status).to_owned(),
    };
    data.validations
        .iter()
        .map(|(category, checks)| (category.clone(), checks.iter().map(shown).collect()))
        .collect()
}

fn outcome(status: ValidationStatus) -> &'static str {
    match status {
        ValidationStatus::Success => "success",
        ValidationStatus::Failure => "failure",
        ValidationStatus::Pending => "pending",
        ValidationStatus::Error => "error",
        ValidationStatus::Disabled => "disabled",
    }
}

fn merged(before: &[Condition], desired: Vec<DesiredCondition>, now: Timestamp) -> Vec<Condition> {
    let mut list = before.to_vec();
    for condition in desired {
        set(&mut list, condition, now);
    }
    list
}
