//! The installation of a host that is added to a cluster. Source: docs/protocol/host-lifecycle.md#3.2, §5 and §8.

use muster_api::host::{HostKind, HostRole};
use muster_api::time::Timestamp;

use super::refresh::{describe, move_to, refresh};
use super::step::{RefusalClass, Refused};
use super::{Host, HostEvent, HostFacts, HostState, LogsState, NotBooted, Progress, news, role, stages};
use crate::event::NewEvent;
use crate::text::one_line;

/// Longest name of a stage that is kept, bytes.
const MAX_STAGE: usize = 128;
/// Longest news of a stage that is kept, bytes.
const MAX_STAGE_INFO: usize = 2000;

/// A user wants the host installed.
pub(super) fn requested(
    host: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    news: &mut Vec<NewEvent>,
) -> Result<(), Refused> {
    let refuse =
        |host: &Host, why: &str| Err(Refused::by_state(host, event, RefusalClass::UserConflict, why));
    if host.cluster_id.is_none() {
        return refuse(host, "it belongs to no cluster; bind it to one first");
    }
    if host.data.kind != HostKind::AddToExistingClusterHost {
        return refuse(
            host,
            "only hosts that are added to an existing cluster are installed one by one",
        );
    }
    if host.state != HostState::Known {
        let why = format!("only a known host can be installed. {}", describe(host));
        return refuse(host, &why);
    }
    if host.data.role == HostRole::AutoAssign {
        host.data.role = role::in_the_end(&host.data);
        host.data.suggested_role = host.data.role;
    }
    let before = host.clone();
    refresh(host, facts, now);
    if host.state != HostState::Known {
        let why = format!("it is not fit any more. {}", describe(host));
        return refuse(&before, &why);
    }
    host.data.logs = LogsState::default();
    host.data.progress = None;
    move_to(
        host,
        HostState::Installing,
        "Waits for the host to begin its installation",
    );
    if facts.kube {
        news.push(news::host_installation_started(host, now));
    }
    for (disk, skipped) in disks_of_old_systems(host) {
        news.push(news::quick_disk_format(host, &disk, skipped, now));
    }
    Ok(())
}

/// Ids of disks that hold something bootable, with whether a user wants them left alone.
fn disks_of_old_systems(host: &Host) -> Vec<(String, bool)> {
    let skipped = &host.data.skip_formatting_disks;
    let disks = host.data.disks_to_be_formatted.iter();
    disks.map(|id| (id.clone(), skipped.contains(id))).collect()
}

/// The install step failed on the host.
pub(super) fn failed(host: &mut Host, event: &HostEvent, reason: &str) -> Result<(), Refused> {
    match host.state {
        HostState::Installing | HostState::InstallingInProgress => {
            let mut info = "installation command failed".to_owned();
            let reason = one_line(reason.trim(), MAX_STAGE_INFO);
            if !reason.is_empty() {
                info = format!("{info}: {reason}");
            }
            move_to(host, HostState::Error, &info);
            Ok(())
        }
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Binding
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Disconnected
        | HostState::InstallingPendingUserAction { .. }
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => Err(Refused::by_state(
            host,
            event,
            RefusalClass::NotAccepted,
            "it is not asked to install anything",
        )),
    }
}

/// A user gives the installation up.
pub(super) fn cancelled(
    host: &mut Host,
    event: &HostEvent,
    reason: &str,
    now: Timestamp,
    news: &mut Vec<NewEvent>,
) -> Result<(), Refused> {
    match host.state {
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. }
        | HostState::Error => {
            move_to(host, HostState::Cancelled, &one_line(reason, MAX_STAGE_INFO));
            news.push(news::host_installation_cancelled(host, now));
            Ok(())
        }
        // Nothing has begun.
        HostState::Known => Ok(()),
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Binding
        | HostState::Discovering
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Disconnected
        | HostState::AddedToExistingCluster
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => Err(Refused::by_state(
            host,
            event,
            RefusalClass::UserConflict,
            "it has no installation that could be cancelled",
        )),
    }
}

/// A user wants to begin anew.
pub(super) fn reset(
    host: &mut Host,
    event: &HostEvent,
    now: Timestamp,
    news: &mut Vec<NewEvent>,
) -> Result<(), Refused> {
    let refuse = |why: &str| Err(Refused::by_state(host, event, RefusalClass::UserConflict, why));
    if host.cluster_id.is_some() && host.data.kind != HostKind::AddToExistingClusterHost {
        return refuse("it has not registered in its cluster yet; wait until it has");
    }
    match host.state {
        HostState::Discovering
        | HostState::Known
        | HostState::PendingForInput { .. }
        | HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. }
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled => {
            move_to(
                host,
                HostState::ResettingPendingUserAction,
                "Reset. Boot the host into the discovery image to begin anew",
            );
            news.push(news::host_installation_reset(host, now));
            Ok(())
        }
        HostState::ResettingPendingUserAction => Ok(()),
        HostState::Insufficient { .. } | HostState::Disconnected => {
            refuse("it has begun nothing that could be reset; see to what it lacks first")
        }
        HostState::Binding => refuse("it is on its way into the cluster; wait until it has registered again"),
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => refuse("it belongs to no cluster, so nothing was installed"),
    }
}

/// The host, or a controller for it, told how far it is.
pub(super) fn progressed(
    host: &mut Host,
    event: &HostEvent,
    (stage, info): (&str, &str),
    facts: &HostFacts<'_>,
    now: Timestamp,
    news: &mut Vec<NewEvent>,
) -> Result<(), Refused> {
    let (mut stage, info) = (one_line(stage, MAX_STAGE), one_line(info, MAX_STAGE_INFO));
    let refuse = |host: &Host, class, why: &str| Err(Refused::by_state(host, event, class, why));
    if host.cluster_id.is_none() {
        return refuse(host, RefusalClass::BadInput, "it belongs to no cluster");
    }
    if stage.is_empty() {
        return refuse(host, RefusalClass::BadInput, "current_stage is missing");
    }
    let day2 = host.data.kind == HostKind::AddToExistingClusterHost;
    let last_seen_stage = day2 && !facts.kube && stage == stages::REBOOTING;
    if last_seen_stage {
        stage = stages::DONE.into();
    }
    if let Some(progress) = host.data.progress.as_mut().filter(|p| p.stage == stage) {
        if progress.info != info {
            progress.info = info;
            progress.stage_updated_at = now;
            news.push(news::host_install_progress_updated(host, now));
        }
        return Ok(());
    }
    if !matches!(
        host.state,
        HostState::Installing
            | HostState::InstallingInProgress
            | HostState::InstallingPendingUserAction { .. }
    ) {
        let why = "only a host that is being installed makes progress";
        return refuse(host, RefusalClass::UserConflict, why);
    }
    if stage == stages::FAILED {
        let words = if info.is_empty() {
            stages::FAILED.to_owned()
        } else {
            format!("{} - {info}", stages::FAILED)
        };
        move_to(host, HostState::Error, &words);
        news.push(news::host_install_failed(host, &words, now));
        return Ok(());
    }
    let list = stages::of(host.data.role, host.data.kind, facts.kube);
    let position = stages::position(list, &stage);
    if let Some(present) = &host.data.progress {
        if position.is_none() {
            let why = format!(
                "{stage:?} is not a stage of the role {}; its stages are: {}",
                host.data.role.name(),
                list.join(", ")
            );
            return refuse(host, RefusalClass::UserConflict, &why);
        }
        if position < stages::position(list, &present.stage) {
            let why = format!("{stage:?} comes before {:?}, where it is now", present.stage);
            return refuse(host, RefusalClass::UserConflict, &why);
        }
    }
    if host.data.installer_version.is_empty() {
        facts
            .images
            .installer
            .clone_into(&mut host.data.installer_version);
    }
    host.data.progress = Some(Progress {
        percentage: stages::percentage(list, position),
        info,
        stage_started_at: now,
        stage_updated_at: now,
        stage: stage.clone(),
    });
    let (state, words) = if last_seen_stage {
        (
            HostState::AddedToExistingCluster,
            "The host reboots from its disk. No more news will come from it here: watch the nodes of the cluster, and approve its certificate signing requests if nothing else does",
        )
    } else if day2 && stage == stages::DONE {
        (HostState::AddedToExistingCluster, stage.as_str())
    } else {
        (HostState::InstallingInProgress, stage.as_str())
    };
    move_to(host, state, words);
    news.push(news::host_install_progress_updated(host, now));
    Ok(())
}

/// The reboot took too long.
pub(super) fn reboot_too_slow(host: &mut Host) {
    let info = format!(
        "The host has not come up from {} for {} minutes. Check its boot order and its console",
        installation_disk(host),
        stages::limit(stages::REBOOTING).num_minutes()
    );
    let why = NotBooted::TooSlow;
    move_to(host, HostState::InstallingPendingUserAction { why }, &info);
}

/// The discovery image came up where the installed system should have.
pub(super) fn booted_discovery(host: &mut Host) {
    let info = format!(
        "The host booted the discovery image again instead of {}. Put that disk first in its boot order, or take the image away, and reboot it",
        installation_disk(host)
    );
    let why = NotBooted::DiscoveryImage;
    move_to(host, HostState::InstallingPendingUserAction { why }, &info);
}

/// As people find it: model, serial, name, id.
fn installation_disk(host: &Host) -> String {
    let data = &host.data;
    let inventory = host.inventory.as_ref();
    let mut disks = inventory.iter().flat_map(|inventory| &inventory.disks);
    let name = format!("{} ({})", data.installation_disk_path, data.installation_disk_id);
    match disks.find(|disk| disk.id == data.installation_disk_id) {
        Some(disk) => format!("its disk {} {} {name}", disk.model, disk.serial),
        None => format!("its disk {name}"),
    }
}
