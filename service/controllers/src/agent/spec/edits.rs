//! Computes the edits of a host that bring it to the spec of its Agent. Source:
//! docs/protocol/kube-controllers.md#4.2.
//!
//! A setting that cannot be accepted is reported and left out; the others are applied nevertheless. A setting that is
//! absent from the spec stays as it is in the host, except where an empty list or text clears it.

use std::collections::BTreeMap;

use muster_api::host::{DiskConfigParams, DiskRole, HostRole, HostRoleUpdate, HostUpdateParams, KeyValue};
use muster_core::record::{Host, Secret};
use muster_core::rules::{disks, hostname, labels};
use muster_resources::AgentSpec;

/// The token of the cluster's Ignition endpoint, as the spec sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// The host keeps its token: the Secret has not changed since the host was given it, or could not be read.
    Same,
    /// This token; empty: none.
    Is(Secret),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edits {
    /// The settings to change in one event; `None`: nothing changes.
    pub params: Option<HostUpdateParams>,
    /// Arguments of coreos-installer.
    pub installer_args: Option<Vec<String>>,
    /// Ignition to merge into the host's.
    pub ignition: Option<Secret>,
    /// Problems of the spec, each with what to do. No text holds a secret.
    pub problems: Vec<String>,
}

/// True while settings of the host still matter. In other states changes of the spec wait.
pub fn is_open(host: &Host) -> bool {
    host.state.takes_settings()
}

/// The difference between `spec` and `host`.
pub fn edits(spec: &AgentSpec, host: &Host, token: &Token) -> Edits {
    let mut edits = Edits::default();
    if !is_open(host) {
        return edits;
    }
    let mut params = HostUpdateParams::default();
    let problems = &mut edits.problems;
    params.host_name = name(spec, host, problems);
    params.host_role = role(spec, host, problems);
    params.disks_selected_config = disk(spec, host, problems);
    params.node_labels = node_labels(spec, host, problems);
    params.machine_config_pool_name = given(&spec.machine_config_pool)
        .filter(|pool| *pool != host.data.machine_config_pool_name)
        .map(str::to_owned);
    params.ignition_endpoint_http_headers = changed(
        &spec.ignition_endpoint_http_headers,
        &host.data.ignition_endpoint_http_headers,
    );
    if let Token::Is(token) = token
        && *token != host.data.ignition_endpoint_token
    {
        params.ignition_endpoint_token = Some(token.reveal().to_owned());
    }
    if given(&spec.fencing_credentials_secret_ref).is_some() {
        problems.push(
            "fencingCredentialsSecretRef: fencing is for clusters of two nodes, which this service does not install; leave it out"
                .into(),
        );
    }
    edits.installer_args = installer_args(spec, host, problems);
    let ignition = spec.ignition_config_overrides.as_deref().unwrap_or_default();
    if ignition != host.data.ignition_config_overrides.reveal() {
        edits.ignition = Some(Secret::new(ignition));
    }
    edits.params = (params != HostUpdateParams::default()).then_some(params);
    edits
}

/// The text of a field; `None` also for an empty one.
pub fn given(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.is_empty())
}

fn name(spec: &AgentSpec, host: &Host, problems: &mut Vec<String>) -> Option<String> {
    let wanted = given(&spec.hostname)?;
    if host.data.requested_hostname.as_deref() == Some(wanted) {
        return None;
    }
    match hostname::check(wanted) {
        Ok(()) => Some(wanted.to_owned()),
        Err(why) => {
            problems.push(format!("hostname: {why}"));
            None
        }
    }
}

fn role(spec: &AgentSpec, host: &Host, problems: &mut Vec<String>) -> Option<HostRoleUpdate> {
    let wanted = match spec.role.as_str() {
        "" => return None,
        "auto-assign" => HostRoleUpdate::AutoAssign,
        "master" => HostRoleUpdate::Master,
        "arbiter" => HostRoleUpdate::Arbiter,
        "worker" => HostRoleUpdate::Worker,
        other => {
            problems.push(format!(
                "role: {other:?} is none; write auto-assign, master, arbiter or worker"
            ));
            return None;
        }
    };
    (HostRole::from(wanted) != host.data.role).then_some(wanted)
}

/// The path wins over the id. A choice that was made before the host reported its disks waits for them.
fn disk(spec: &AgentSpec, host: &Host, problems: &mut Vec<String>) -> Option<Vec<DiskConfigParams>> {
    if host.data.pending_reinstall().is_some() {
        // A node that is installed again keeps its disk: the others hold its data.
        return None;
    }
    let (field, wanted) = match (
        given(&spec.installation_disk_path),
        given(&spec.installation_disk_id),
    ) {
        (Some(path), _) => ("installation_disk_path", path),
        (None, Some(id)) => ("installation_disk_id", id),
        (None, None) => return None,
    };
    let disks = &host.inventory.as_ref()?.disks;
    let Some(disk) = disks::find(disks, wanted) else {
        let known: Vec<&str> = disks::suggested(disks)
            .into_iter()
            .map(|disk| disk.id.as_str())
            .take(8)
            .collect();
        problems.push(format!(
            "{field}: the host has no disk {wanted:?}; take one of status.inventory.disks, such as {}",
            known.join(", ")
        ));
        return None;
    };
    if disk.id == host.data.installation_disk_id {
        return None;
    }
    let eligibility = &disk.installation_eligibility;
    if !eligibility.eligible {
        let why = eligibility.not_eligible_reasons.join("; ");
        problems.push(format!(
            "{field}: the disk {wanted:?} cannot be installed to: {why}"
        ));
        return None;
    }
    let choice = DiskConfigParams {
        id: wanted.to_owned(),
        role: Some(DiskRole::Install),
    };
    Some(vec![choice])
}

fn node_labels(spec: &AgentSpec, host: &Host, problems: &mut Vec<String>) -> Option<Vec<KeyValue>> {
    let wanted = changed(&spec.node_labels, &host.data.node_labels)?;
    for label in &wanted {
        if let Err(why) = labels::check(&label.key, &label.value) {
            problems.push(format!("nodeLabels: {why}"));
            return None;
        }
    }
    Some(wanted)
}

fn changed(wanted: &BTreeMap<String, String>, present: &[(String, String)]) -> Option<Vec<KeyValue>> {
    let present: BTreeMap<&str, &str> = present.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let same = wanted.len() == present.len()
        && wanted
            .iter()
            .all(|(key, value)| present.get(key.as_str()) == Some(&value.as_str()));
    if same {
        return None;
    }
    let pairs = wanted.iter().map(|(key, value)| KeyValue {
        key: key.clone(),
        value: value.clone(),
    });
    Some(pairs.collect())
}

fn installer_args(spec: &AgentSpec, host: &Host, problems: &mut Vec<String>) -> Option<Vec<String>> {
    let wanted: Vec<String> = match given(&spec.installer_args) {
        None => Vec::new(),
        Some(text) => match serde_json::from_str(text) {
            Ok(words) => words,
            Err(error) => {
                problems.push(format!(
                    "installerArgs: a JSON list of texts is expected, such as [\"--append-karg\", \"quiet\"] ({error})"
                ));
                return None;
            }
        },
    };
    (wanted != host.data.installer_args).then_some(wanted)
}
