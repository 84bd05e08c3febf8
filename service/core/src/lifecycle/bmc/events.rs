//! Events about BMCs: `muster_...`, since the protocol knows none.

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
    about(bmc, "muster_bmc_discovery_failed", Severity::Error, &message, now)
}

pub(super) fn medium_left(bmc: &Bmc, why: &str, now: Timestamp) -> NewEvent {
    let message = format!("BMC {}: the image could not be taken out: {why}", bmc.name);
    about(bmc, "muster_bmc_medium_left", Severity::Warning, &message, now)
}
