//! Events about BMCs: `muster_...`, since the protocol has none.

use muster_api::bmc::{BmcPowerAction, BmcPowerOutcome};
use muster_api::event::{Category, Severity};
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use serde_json::{Map, Value};

use crate::record::{Bmc, MAX_MESSAGE, NewEvent};
use crate::text::cut;

fn about(bmc: &Bmc, name: &'static str, severity: Severity, message: &str, now: Timestamp) -> NewEvent {
    let mut props = Map::new();
    props.insert("bmc_id".into(), Value::String(bmc.id.to_string()));
    props.insert("bmc_name".into(), Value::String(bmc.name.clone()));
    NewEvent {
        name: name.into(),
        severity,
        category: Category::User,
        message: cut(message, MAX_MESSAGE).to_owned(),
        props,
        host_id: None,
        infra_env_id: Some(bmc.infra_env_id),
        cluster_id: None,
        at: now,
    }
}

fn info(bmc: &Bmc, name: &'static str, what: &str, now: Timestamp) -> NewEvent {
    about(
        bmc,
        name,
        Severity::Info,
        &format!("BMC {}: {what}", bmc.name),
        now,
    )
}

/// A BMC was added.
pub fn added(bmc: &Bmc, now: Timestamp) -> NewEvent {
    let what = format!("it was added, at {}", bmc.settings.address);
    info(bmc, "muster_bmc_added", &what, now)
}

pub(super) fn changed(bmc: &Bmc, now: Timestamp) -> NewEvent {
    info(bmc, "muster_bmc_changed", "its settings were changed", now)
}

/// A part of the machine, as the BMC reports it, was one value before and is another.
pub(super) fn about_part(
    bmc: &Bmc,
    part: &'static str,
    [before, after]: [String; 2],
    now: Timestamp,
) -> NewEvent {
    let what = format!("{part}: {before} -> {after}");
    let mut event = info(bmc, "muster_hardware_changed", &what, now);
    event.host_id = bmc.host_id;
    event.props.insert("part".into(), part.into());
    event.props.insert("before".into(), before.into());
    event.props.insert("after".into(), after.into());
    event
}

/// A BMC was deleted.
pub fn deleted(bmc: &Bmc, now: Timestamp) -> NewEvent {
    info(bmc, "muster_bmc_deleted", "it was deleted", now)
}

pub(super) fn started(bmc: &Bmc, now: Timestamp) -> NewEvent {
    info(
        bmc,
        "muster_bmc_discovery_started",
        "its machine is to be discovered",
        now,
    )
}

pub(super) fn started_for_host(bmc: &Bmc, host_id: HostId, now: Timestamp) -> NewEvent {
    let why = "waits for somebody to boot it into the discovery image: the BMC does so";
    boots_host(bmc, host_id, why, now)
}

pub(super) fn disk_for_host(bmc: &Bmc, host_id: HostId, now: Timestamp) -> NewEvent {
    let why = "came up from the discovery image instead of its disk: the BMC boots it from the disk";
    boots_host(bmc, host_id, why, now)
}

fn boots_host(bmc: &Bmc, host_id: HostId, why: &str, now: Timestamp) -> NewEvent {
    let what = format!("its machine is host {host_id}, which {why}");
    NewEvent {
        host_id: Some(host_id),
        ..info(bmc, "muster_bmc_boots_host", &what, now)
    }
}

pub(super) fn stopped(bmc: &Bmc, now: Timestamp) -> NewEvent {
    info(
        bmc,
        "muster_bmc_discovery_stopped",
        "the discovery of its machine was stopped",
        now,
    )
}

pub(super) fn discovered(bmc: &Bmc, host_id: HostId, now: Timestamp) -> NewEvent {
    NewEvent {
        host_id: Some(host_id),
        ..info(bmc, "muster_bmc_discovered", &bmc.progress.reason, now)
    }
}

pub(super) fn failed(bmc: &Bmc, now: Timestamp) -> NewEvent {
    let message = format!("BMC {}: {}", bmc.name, bmc.progress.reason);
    NewEvent {
        host_id: bmc.host_id.filter(|_| bmc.progress.for_host),
        ..about(bmc, "muster_bmc_discovery_failed", Severity::Error, &message, now)
    }
}

pub(super) fn power_asked(bmc: &Bmc, action: BmcPowerAction, force: bool, now: Timestamp) -> NewEvent {
    let what = match action {
        BmcPowerAction::On => "its machine is to be switched on",
        BmcPowerAction::Off => "its machine is to be switched off",
        BmcPowerAction::Reset => "its machine is to be switched off and on again",
        BmcPowerAction::Status => "the state of its machine's power is requested",
    };
    let force = if force { ", by force if need be" } else { "" };
    NewEvent {
        host_id: bmc.host_id,
        ..info(bmc, "muster_bmc_power_asked", &format!("{what}{force}"), now)
    }
}

/// The end of the last request for power.
pub(super) fn power_ended(bmc: &Bmc, now: Timestamp) -> NewEvent {
    let request = bmc.power.request.as_ref();
    let reason = request.map_or("", |request| request.reason.as_str());
    let message = format!("BMC {}: {reason}", bmc.name);
    let is_done = request.is_some_and(|request| request.outcome == BmcPowerOutcome::Done);
    let (name, severity) = match is_done {
        true => ("muster_bmc_power_switched", Severity::Info),
        false => ("muster_bmc_power_failed", Severity::Warning),
    };
    NewEvent {
        host_id: bmc.host_id,
        ..about(bmc, name, severity, &message, now)
    }
}

pub(super) fn medium_left(bmc: &Bmc, why: &str, now: Timestamp) -> NewEvent {
    let message = format!("BMC {}: the image could not be taken out: {why}", bmc.name);
    about(bmc, "muster_bmc_medium_left", Severity::Warning, &message, now)
}
