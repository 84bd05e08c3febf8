//! Starts, cancels and resets the installation of a host that is added to a cluster.
//! Source: docs/protocol/host-lifecycle.md#3.2 and #8.

pub(super) mod not_booted;
pub(super) mod progress;
pub(super) mod reinstall;

use muster_api::host::{HostKind, HostRole};
use muster_api::steps::ImageConfiguration;
use muster_api::time::Timestamp;

use super::refresh::refresh;
use super::step::Rejection;
use super::transition::{describe, move_to};
use super::{cleaning, events, failures};
use crate::record::{Host, HostState, InstalledAs, LogsState, NewEvent, NodeAgent, Phase};
use crate::rules::disks::is_protected;
use crate::rules::facts::HostFacts;
use crate::rules::ignition::unfit_bootstrap;
use crate::rules::{addresses, agent_version, hostname, os_image, role, stages};
use crate::text::one_line;

/// Longest reason that is kept, bytes.
const MAX_REASON: usize = 2000;

/// The reason why a known host cannot be installed now, and the remedy; `None`: it can.
pub fn obstacle(host: &Host, facts: &HostFacts<'_>) -> Option<String> {
    os_image::of_host(host, facts)
        .err()
        .map(|missing| missing.to_string())
        .or_else(|| match os_image::configuration(host, facts) {
            ImageConfiguration::CloudInit => os_image::cloud_init::obstacle(host, facts),
            ImageConfiguration::Ignition => unfit_bootstrap(host),
        })
}

/// A user requests the installation.
pub(super) fn requested(
    host: &mut Host,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    if host.cluster_id.is_none() {
        return Err(Rejection::conflict(
            "it belongs to no cluster; bind it to one first",
        ));
    }
    if host.state == HostState::Binding {
        return Err(Rejection::conflict(
            "it is on its way into its cluster; it can be installed when it is known there",
        ));
    }
    if host.data.kind != HostKind::AddToExistingClusterHost {
        return Err(Rejection::conflict(
            "only hosts that are added to an existing cluster are installed one by one",
        ));
    }
    if host.state != HostState::Known {
        return Err(Rejection::conflict(format!(
            "only a known host can be installed. {}",
            describe(host)
        )));
    }
    if let Some(why) = obstacle(host, facts) {
        return Err(Rejection::conflict(why));
    }
    if host.data.role == HostRole::AutoAssign {
        host.data.role = role::in_the_end(&host.data);
        host.data.suggested_role = host.data.role;
    }
    refresh(host, facts, now);
    if host.state != HostState::Known {
        return Err(Rejection::conflict(format!(
            "it is not fit any more. {}",
            describe(host)
        )));
    }
    host.data.logs = LogsState::default();
    host.data.progress = None;
    host.data.installed_as = Some(installed_as(host));
    failures::installation_begins(host);
    cleaning::installation_begins(host);
    // Ignition puts it onto the node.
    let takes_agent = os_image::configuration(host, facts) == ImageConfiguration::Ignition
        && agent_version::is_own(&host.data.discovery_agent_version);
    host.data.node_agent = if facts.node_agent && takes_agent {
        NodeAgent::Installed
    } else {
        NodeAgent::Absent
    };
    move_to(
        host,
        HostState::Installing,
        "Waits for the host to begin its installation",
    );
    if facts.kube {
        events.push(events::host_installation_started(host, now));
    }
    let formatted = host.data.disks_to_be_formatted.iter();
    let skipped = &host.data.skip_formatting_disks;
    let disks = host
        .inventory
        .as_ref()
        .map_or(&[][..], |inventory| inventory.disks.as_slice());
    let is_skipped = |disk: &str| is_protected(disk, skipped, disks);
    events.extend(formatted.map(|disk| events::quick_disk_format(host, disk, is_skipped(disk), now)));
    Ok(())
}

/// The host as it is now.
fn installed_as(host: &Host) -> InstalledAs {
    let interfaces = host.inventory.iter().flat_map(|inventory| &inventory.interfaces);
    InstalledAs {
        hostname: hostname::effective(host).unwrap_or_default().to_owned(),
        addresses: interfaces
            .flat_map(addresses::networks_of)
            .map(|net| net.addr())
            .collect(),
        calls_itself: String::new(),
    }
}

/// The install step failed on the host.
pub(super) fn failed(host: &mut Host, reason: &str) -> Result<(), Rejection> {
    if !matches!(
        host.state,
        HostState::Installing | HostState::InstallingInProgress
    ) {
        return Err(Rejection::not_accepted(
            "it is not instructed to install anything",
        ));
    }
    let mut info = "installation command failed".to_owned();
    let reason = one_line(reason.trim(), MAX_REASON);
    if !reason.is_empty() {
        info = format!("{info}: {reason}");
    }
    move_to(host, HostState::Error, &info);
    Ok(())
}

/// A user cancels the installation.
pub(super) fn cancelled(
    host: &mut Host,
    reason: &str,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    if host.state.phase() == Phase::Installing || host.state == HostState::Error {
        move_to(host, HostState::Cancelled, &one_line(reason, MAX_REASON));
        events.push(events::host_installation_cancelled(host, now));
        return Ok(());
    }
    if host.state == HostState::Known {
        return Ok(());
    }
    Err(Rejection::conflict(
        "it has no installation that could be cancelled",
    ))
}

/// A user resets the host.
pub(super) fn reset(host: &mut Host, now: Timestamp, events: &mut Vec<NewEvent>) -> Result<(), Rejection> {
    if host.cluster_id.is_some() && host.data.kind != HostKind::AddToExistingClusterHost {
        return Err(Rejection::conflict(
            "it has not registered in its cluster yet; wait until it has",
        ));
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
            let lives = host.state != HostState::AddedToExistingCluster && stages::has_agent(&host.data);
            let comes_back = lives && agent_version::is_own(&host.data.discovery_agent_version);
            let info = if comes_back {
                host.data.node_agent = NodeAgent::Absent;
                "Reset. Its agent stops what it does and registers again; if it does not within minutes, boot the host into the discovery image"
            } else {
                "Reset. Boot the host into the discovery image to start over"
            };
            move_to(host, HostState::ResettingPendingUserAction, info);
            host.data.comes_back = comes_back;
            events.push(events::host_installation_reset(host, now));
            Ok(())
        }
        HostState::ResettingPendingUserAction => Ok(()),
        HostState::Insufficient { .. } | HostState::Disconnected => Err(Rejection::conflict(
            "it has begun nothing that could be reset; see to what it lacks first",
        )),
        HostState::Binding => Err(Rejection::conflict(
            "it is on its way into the cluster; wait until it has registered again",
        )),
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => Err(Rejection::conflict(
            "it belongs to no cluster, so nothing was installed",
        )),
    }
}
