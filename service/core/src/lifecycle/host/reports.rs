//! Handles a host's reports. Source: docs/protocol/instructions.md#4 and §5.
//!
//! Reports about a cluster from a host that has left it are late and ignored.

mod jitter;
pub(super) mod logs;
pub(super) mod shown_logs;

use std::sync::Arc;

use muster_api::inventory::Inventory;
use muster_api::steps::{
    ApiVipConnectivityResponse, ConnectivityReport, ContainerImageAvailability, DiskInfo, DiskSpeed,
    DiskSpeedCheckResponse, FreeNetworkAddresses, UpgradeAgentResponse, UpgradeAgentResult,
};
use muster_api::time::Timestamp;

use super::event::HostEvent;
use super::refresh::refresh;
use super::step::Rejection;
use super::{events, hardware, media};
use crate::record::{Host, HostReports, HostState, NewEvent, Phase};
use crate::rules::checks::without_secrets;
use crate::rules::facts::HostFacts;
use crate::rules::requirements::required;
use crate::rules::{disks, findings, health, identity};
use crate::text::one_line;

/// Longest reason of an agent that does not replace itself.
const MAX_REASON: usize = 500;

/// Longest name that is reported, bytes.
const MAX_NAME: usize = 100;

/// Most disks and images of which measurements are kept.
const MAX_MEASURED: usize = 2048;

/// Applies a report, and evaluates the host. A report is also a successful step, so the boot medium can be read.
pub(super) fn reported(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    let mut went_well = true;
    let bound = next.cluster_id.is_some();
    match event {
        HostEvent::InventoryReported(inventory_of_host) => inventory(next, inventory_of_host, now, events)?,
        HostEvent::HealthReported(report) => {
            if let Some(health) = health::noted(next.data.health.as_ref(), report, now) {
                hardware::note_firmware(next, &health.last.bios_version, now, events);
                next.data.health = Some(health);
            }
        }
        HostEvent::NtpReported(sources) => next.data.ntp_sources = Some(sources.clone()),
        HostEvent::ConnectivityReported(report) => connectivity(next, report, facts),
        HostEvent::FreeAddressesReported(networks) => free_addresses(next, networks)?,
        HostEvent::DomainsReported(names) if bound => next.data.domain_name_resolutions = Some(names.clone()),
        HostEvent::ApiVipReported(report) if bound => {
            next.data.api_vip_connectivity = Some(ApiVipConnectivityResponse {
                ignition: without_secrets(&report.ignition),
                ..report.clone()
            });
        }
        HostEvent::TangReported(text) if bound => text.clone_into(&mut next.data.tang_connectivity),
        HostEvent::DiskSpeedReported { exit_code, response } => {
            went_well = *exit_code == 0;
            disk_speed(next, (*exit_code, response), facts, now, events)?;
        }
        HostEvent::ImagesReported(list) => images(next, list, now, events)?,
        HostEvent::UpgradeReported(response) => upgrade(next, response, now, events),
        // Late reports about a cluster that the host has left, and virtual addresses, which are not checked for imported clusters.
        _ => {}
    }
    if went_well {
        media::back(next);
    }
    refresh(next, facts, now);
    Ok(())
}

/// Stores an inventory, in states that request it and while an installation is running.
fn inventory(
    host: &mut Host,
    inventory: &Inventory,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    let is_asked = match host.state.phase() {
        Phase::Unbound | Phase::PreInstall => true,
        Phase::Installing => host.state == HostState::InstallingInProgress,
        Phase::Ended | Phase::Moving => false,
    };
    if !is_asked {
        return Err(Rejection::not_accepted("no inventory is requested from it now"));
    }
    let mut inventory = inventory.clone();
    keep_name(host, &mut inventory);
    host.data.agent_disk_reasons = disks::adopt(&mut inventory);
    let old = host.inventory.as_ref();
    match old.and_then(|old| identity::flipped(old, &inventory)) {
        Some(finding) => identity::note(host, finding),
        None => hardware::note(host, &inventory, now, events),
    }
    host.data.reported_hostname.clone_from(&inventory.hostname);
    host.inventory = Some(Arc::new(inventory));
    Ok(())
}

/// After the request to install, a host keeps the name with which it was approved: certificates are approved, and nodes
/// found and drained, by that name.
fn keep_name(host: &mut Host, inventory: &mut Inventory) {
    let Some(kept) = &mut host.data.installed_as else {
        return;
    };
    // A node that is installed again has no inventory at first.
    let old = match &host.inventory {
        Some(old) => old.hostname.clone(),
        None => host.data.reported_hostname.clone(),
    };
    if old.is_empty() && host.inventory.is_none() {
        return;
    }
    let reported = std::mem::replace(&mut inventory.hostname, old.clone());
    let is_known = reported.is_empty() || reported == old || reported == kept.hostname;
    if !is_known && kept.calls_itself.is_empty() {
        kept.calls_itself = one_line(&reported, MAX_NAME);
    }
}

/// Stores a connectivity report unchanged, hosts of other clusters included; only its part about the host's cluster is
/// shared with other hosts.
fn connectivity(host: &mut Host, report: &ConnectivityReport, facts: &HostFacts<'_>) {
    if host.cluster_id.is_none() {
        return;
    }
    let sees = facts.cluster.map(|cluster| findings::sees(report, cluster.peers));
    host.data.sees = sees.unwrap_or_default();
    let mut report = report.clone();
    if let Some(before) = &host.reports.connectivity {
        jitter::settle(&mut report, before, &latency_limits(facts));
    }
    // An equal report stays shared with the stored host; the stored one is never copied just to be replaced.
    if host.reports.connectivity.as_ref() != Some(&report) {
        host.reports = Arc::new(HostReports {
            connectivity: Some(report),
            free_addresses: host.reports.free_addresses.clone(),
        });
    }
}

/// The times that are too long for one role or another, ms.
fn latency_limits(facts: &HostFacts<'_>) -> Vec<f64> {
    let version = facts
        .cluster
        .map_or("", |cluster| &cluster.cluster.data.openshift_version);
    let roles = facts.requirements.of(version);
    [&roles.master, &roles.arbiter, &roles.worker]
        .into_iter()
        .filter_map(|role| role.network_latency_threshold_ms)
        .collect()
}

fn free_addresses(host: &mut Host, networks: &[FreeNetworkAddresses]) -> Result<(), Rejection> {
    if host.cluster_id.is_none() {
        return Err(Rejection::not_accepted("it belongs to no cluster"));
    }
    if networks.is_empty() {
        return Err(Rejection::not_accepted("the report names no network"));
    }
    Arc::make_mut(&mut host.reports).free_addresses = networks.to_vec();
    Ok(())
}

fn disk_speed(
    host: &mut Host,
    (exit_code, response): (i64, &DiskSpeedCheckResponse),
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    let measured = &mut host.data.disks_info;
    if !measured.contains_key(&response.path) && measured.len() >= MAX_MEASURED {
        return Err(Rejection::not_accepted(
            "measurements of too many disks are kept already",
        ));
    }
    let info = DiskInfo {
        path: response.path.clone(),
        disk_speed: Some(DiskSpeed {
            tested: true,
            exit_code,
            speed_ms: response.io_sync_duration,
        }),
    };
    let before = measured.insert(response.path.clone(), info.clone());
    let limit = required(host, facts).role.installation_disk_speed_threshold_ms;
    if exit_code == 0 && response.io_sync_duration > limit && before.as_ref() != Some(&info) {
        events.push(events::disk_speed_slower_than_supported(
            host, response, limit, now,
        ));
    }
    Ok(())
}

/// Stores the availability of images: of an image that was reported before only the result is updated.
fn images(
    host: &mut Host,
    images: &[ContainerImageAvailability],
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    for image in images {
        if let Some(known) = host.data.images_status.get_mut(&image.name) {
            known.result = image.result;
            continue;
        }
        if host.data.images_status.len() >= MAX_MEASURED {
            return Err(Rejection::not_accepted(
                "outcomes of too many images are kept already",
            ));
        }
        host.data.images_status.insert(image.name.clone(), image.clone());
        events.push(events::image_status_updated(host, image, now));
    }
    Ok(())
}

/// An upgrade of the agent leads to an event and changes nothing else.
fn upgrade(host: &Host, response: &UpgradeAgentResponse, now: Timestamp, events: &mut Vec<NewEvent>) {
    match response.result {
        Some(UpgradeAgentResult::Success) => {
            events.push(events::upgrade_agent_finished(host, &response.agent_image, now));
        }
        Some(UpgradeAgentResult::Failure) => {
            let reason = one_line(&response.reason, MAX_REASON);
            events.push(events::upgrade_agent_failed(
                host,
                &response.agent_image,
                &reason,
                now,
            ));
        }
        // Another upgrade was running already and will be reported.
        None => {}
    }
}
