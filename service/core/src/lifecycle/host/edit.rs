//! Applies a user's changes to a host. Source: docs/protocol/rest-behaviour.md#5, docs/protocol/host-lifecycle.md#8 and §11.

pub(super) mod approval;
pub(super) mod overrides;

use muster_api::host::{DiskConfigParams, DiskRole, DiskSkipFormattingParams, HostUpdateParams, KeyValue};
use muster_api::time::Timestamp;

use super::events;
use super::step::{RefusalClass, Rejection};
use crate::record::{Host, NewEvent, Secret};
use crate::rules::facts::HostFacts;
use crate::rules::{disks, hostname, labels, role};

/// Longest name of a machine config pool, header name or header value, bytes.
const MAX_TEXT: usize = 8192;

/// Applies all of `params`, or none if one is refused.
///
/// # Errors
/// The first setting that cannot be accepted. An empty `host_name` is refused like any other bad name.
pub(super) fn apply(
    host: &mut Host,
    params: &HostUpdateParams,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    check_state(host)?;
    let mut edited = host.clone();
    if let Some(name) = &params.host_name {
        hostname::check(name).map_err(bad)?;
        edited.data.requested_hostname = Some(name.clone());
    }
    if let Some(role) = params.host_role {
        role::check(role.into(), facts).map_err(|why| bad(format!("host_role: {why}")))?;
        role::give(&mut edited.data, role.into());
    }
    if let Some(wanted) = &params.disks_selected_config {
        select_disk(&mut edited, wanted)?;
    }
    if let Some(wanted) = &params.disks_skip_formatting {
        skip_formatting(&mut edited, wanted)?;
    }
    if let Some(list) = &params.node_labels {
        for label in list {
            labels::check(&label.key, &label.value).map_err(|why| bad(format!("node_labels: {why}")))?;
        }
        edited.data.node_labels = pairs(list);
    }
    if let Some(pool) = &params.machine_config_pool_name {
        plain_text("machine_config_pool_name", pool).map_err(bad)?;
        edited.data.machine_config_pool_name.clone_from(pool);
    }
    if let Some(token) = &params.ignition_endpoint_token {
        plain_text("ignition_endpoint_token", token).map_err(bad)?;
        edited.data.ignition_endpoint_token = Secret::new(token.clone());
    }
    if let Some(headers) = &params.ignition_endpoint_http_headers {
        for header in headers {
            check_header(header).map_err(bad)?;
        }
        edited.data.ignition_endpoint_http_headers = pairs(headers);
    }
    if params.fencing_credentials.as_ref().is_some_and(|v| !v.is_null()) {
        return Err(bad(
            "fencing_credentials are for two-node clusters, which this service does not install; leave them out",
        ));
    }
    let changes = changes(host, &edited);
    *host = edited;
    if !changes.is_empty() {
        events.push(events::muster_host_changed(host, &changes.join("; "), now));
    }
    Ok(())
}

/// The change as the history shows it: `role: auto-assign -> worker`.
fn changes(old: &Host, new: &Host) -> Vec<String> {
    let mut changes = Vec::new();
    let mut note = |what: &str, from: &str, to: &str| {
        if from != to {
            let from = if from.is_empty() { "(none)" } else { from };
            let to = if to.is_empty() { "(none)" } else { to };
            changes.push(format!("{what}: {from} -> {to}"));
        }
    };
    note("name", &hostname::display(old), &hostname::display(new));
    note("role", old.data.role.name(), new.data.role.name());
    note(
        "disk",
        &old.data.installation_disk_path,
        &new.data.installation_disk_path,
    );
    note("labels", &label_text(old), &label_text(new));
    changes
}

fn label_text(host: &Host) -> String {
    let labels = host.data.node_labels.iter();
    let all: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    all.join(" ")
}

/// Accepts settings until the installation begins.
fn check_state(host: &Host) -> Result<(), Rejection> {
    if host.state.takes_settings() {
        return Ok(());
    }
    let status = host.state.status().name();
    Err(conflict(format!(
        "The host is {status}, and its settings can be changed only before its installation begins; reset or unbind it first"
    )))
}

fn select_disk(host: &mut Host, wanted: &[DiskConfigParams]) -> Result<(), Rejection> {
    let mut install = wanted.iter().filter(|disk| disk.role == Some(DiskRole::Install));
    let (Some(choice), None) = (install.next(), install.next()) else {
        return Err(conflict(
            "disks_selected_config must give the role install to exactly one disk",
        ));
    };
    let Some(inventory) = &host.inventory else {
        return Err(conflict(
            "The host has not reported which disks it has; choose one when its inventory is there",
        ));
    };
    let Some(disk) = disks::find(&inventory.disks, &choice.id) else {
        if let Some(words) = disks::none_listed(&inventory.disks) {
            return Err(conflict(words));
        }
        return Err(conflict(format!(
            "The host has no disk {:?}; name one by its id, its by-path name or /dev name as listed in the inventory",
            choice.id
        )));
    };
    if !disk.installation_eligibility.eligible {
        let why = disk.installation_eligibility.not_eligible_reasons.join("; ");
        return Err(conflict(format!(
            "The disk {:?} cannot be installed to: {why}",
            choice.id
        )));
    }
    let disk = disk.clone();
    host.data.requested_disk_id.clone_from(&disk.id);
    disks::select(&mut host.data, Some(&disk));
    Ok(())
}

fn skip_formatting(host: &mut Host, wanted: &[DiskSkipFormattingParams]) -> Result<(), Rejection> {
    for disk in wanted {
        host.data.skip_formatting_disks.retain(|id| *id != disk.disk_id);
        if !disk.skip_formatting {
            continue;
        }
        let Some(inventory) = &host.inventory else {
            return Err(conflict(
                "The host has not reported which disks it has; choose when its inventory is there",
            ));
        };
        if !inventory.disks.iter().any(|known| known.id == disk.disk_id) {
            return Err(bad(format!(
                "disks_skip_formatting: the host has no disk with the id {:?}; take ids from the inventory",
                disk.disk_id
            )));
        }
        host.data.skip_formatting_disks.push(disk.disk_id.clone());
    }
    Ok(())
}

fn check_header(header: &KeyValue) -> Result<(), String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if header.key.is_empty() || !header.key.chars().all(token) {
        return Err(format!(
            "ignition_endpoint_http_headers: {:?} is not the name of an HTTP header",
            header.key
        ));
    }
    plain_text("ignition_endpoint_http_headers", &header.key)?;
    plain_text("ignition_endpoint_http_headers", &header.value)
}

/// Never repeats the text: it may be a secret.
fn plain_text(field: &str, text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT {
        return Err(format!(
            "{field}: {} bytes are too many; at most {MAX_TEXT} are taken",
            text.len()
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(format!(
            "{field}: line breaks and control characters are not allowed"
        ));
    }
    Ok(())
}

fn pairs(list: &[KeyValue]) -> Vec<(String, String)> {
    list.iter()
        .map(|pair| (pair.key.clone(), pair.value.clone()))
        .collect()
}

fn bad(reason: impl Into<String>) -> Rejection {
    Rejection::plain(RefusalClass::BadInput, reason)
}

fn conflict(reason: impl Into<String>) -> Rejection {
    Rejection::plain(RefusalClass::UserConflict, reason)
}
