//! Handles reports about the progress of an installation. Source: docs/protocol/host-lifecycle.md#5.

use muster_api::host::{HostKind, HostStage};
use muster_api::time::Timestamp;

use crate::lifecycle::host::events;
use crate::lifecycle::host::step::Rejection;
use crate::lifecycle::host::transition::move_to;
use crate::record::{Host, HostState, NewEvent, Phase, Progress};
use crate::rules::facts::HostFacts;
use crate::rules::stages;
use crate::text::one_line;

/// Longest detail of a stage that is kept, bytes.
const MAX_INFO: usize = 2000;

/// The host, or a controller for it, reports its stage.
pub(in crate::lifecycle::host) fn progressed(
    host: &mut Host,
    (stage, info): (Option<HostStage>, &str),
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    let info = one_line(info, MAX_INFO);
    if host.cluster_id.is_none() {
        return Err(Rejection::bad_input("it belongs to no cluster"));
    }
    let reported = stage.ok_or_else(|| Rejection::bad_input("current_stage is missing"))?;
    let ends_here = reported == HostStage::Rebooting && ends_with_reboot(host, facts);
    let stage = if ends_here { HostStage::Done } else { reported };
    if host
        .data
        .progress
        .as_ref()
        .is_some_and(|present| present.stage == stage)
    {
        if update_info(host, info, now) {
            events.push(events::host_install_progress_updated(host, now));
        }
        return Ok(());
    }
    if host.state.phase() != Phase::Installing {
        return Err(Rejection::conflict(
            "only a host that is being installed makes progress",
        ));
    }
    if stage == HostStage::Failed {
        fail(host, &info, now, events);
        return Ok(());
    }
    host.data.progress = Some(enter(host, stage, info, facts, now)?);
    if host.data.installer_version.is_empty() {
        facts
            .images
            .installer
            .clone_into(&mut host.data.installer_version);
    }
    if ends_here {
        let info = "The host reboots from its disk. No more news will come from it here: watch the nodes of the cluster, and approve its certificate signing requests if nothing else does";
        move_to(host, HostState::AddedToExistingCluster, info);
    } else if stage == HostStage::Done && host.data.kind == HostKind::AddToExistingClusterHost {
        move_to(host, HostState::AddedToExistingCluster, stage.name());
    } else {
        move_to(host, HostState::InstallingInProgress, stage.name());
    }
    events.push(events::host_install_progress_updated(host, now));
    Ok(())
}

/// True when no controller sees the node come up, so that its reboot is the last stage that can be seen.
fn ends_with_reboot(host: &Host, facts: &HostFacts<'_>) -> bool {
    host.data.kind == HostKind::AddToExistingClusterHost && !facts.kube
}

/// Returns true if `info` differs from before.
fn update_info(host: &mut Host, info: String, now: Timestamp) -> bool {
    match &mut host.data.progress {
        Some(progress) if progress.info != info => {
            progress.info = info;
            progress.stage_updated_at = now;
            true
        }
        Some(_) | None => false,
    }
}

fn fail(host: &mut Host, info: &str, now: Timestamp, events: &mut Vec<NewEvent>) {
    let failed = HostStage::Failed.name();
    let detail = if info.is_empty() {
        failed.to_owned()
    } else {
        format!("{failed} - {info}")
    };
    move_to(host, HostState::Error, &detail);
    events.push(events::host_install_failed(host, &detail, now));
}

/// The progress at the beginning of `stage`.
///
/// # Errors
/// For a stage that the role does not have, or that comes before the present one.
fn enter(
    host: &Host,
    stage: HostStage,
    info: String,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Progress, Rejection> {
    let list = stages::of(host.data.role, host.data.kind, facts.kube);
    let position = stages::position(list, stage);
    if let Some(present) = &host.data.progress {
        if position.is_none() {
            let known: Vec<&str> = list.iter().map(|stage| stage.name()).collect();
            return Err(Rejection::conflict(format!(
                "{:?} is not a stage of the role {}; its stages are: {}",
                stage.name(),
                host.data.role.name(),
                known.join(", ")
            )));
        }
        if position < stages::position(list, present.stage) {
            return Err(Rejection::conflict(format!(
                "{:?} comes before {:?}, where it is now",
                stage.name(),
                present.stage.name()
            )));
        }
    }
    Ok(Progress {
        percentage: stages::percentage(list, position),
        info,
        stage_started_at: now,
        stage_updated_at: now,
        stage,
    })
}
