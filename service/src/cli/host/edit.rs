//! Compares the wanted settings of a host with its present ones: the request that changes it, the one that changes it back, and the
//! difference in words.

use std::collections::BTreeMap;

use muster_api::host::{DiskConfigParams, DiskRole, HostRole, HostRoleUpdate, HostUpdateParams, KeyValue};
use muster_api::inventory::Disk;
use muster_core::rules::{disks, hostname, labels};

use crate::cli::fleet::Member;

/// The wanted settings; `None` leaves a setting as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub name: Option<String>,
    pub role: Option<String>,
    /// By id, by-path name, `/dev` name, name or serial number.
    pub disk: Option<String>,
    /// `KEY=VALUE` sets, `KEY-` removes.
    pub labels: Vec<String>,
    pub config_pool: Option<String>,
}

/// A change of a host.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Changes it; equal to the default: nothing changes.
    pub params: HostUpdateParams,
    /// Changes it back.
    pub back: HostUpdateParams,
    /// `role: worker -> master`.
    pub lines: Vec<String>,
    /// Settings that the host had already: `role: worker, as it was`.
    pub same: Vec<String>,
}

impl Change {
    /// True when the host is as wanted.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn note(&mut self, what: &str, from: &str, to: &str) {
        let from = if from.is_empty() { "(none)" } else { from };
        let to = if to.is_empty() { "(none)" } else { to };
        self.lines.push(format!("{what}: {from} -> {to}"));
    }

    fn note_same(&mut self, what: &str, value: &str) {
        self.same.push(format!("{what}: {value}, as it was"));
    }
}

/// The change that brings the host to the wanted settings.
///
/// # Errors
/// Reports everything that is wrong with it.
pub fn change(member: &Member, wanted: &Wanted) -> Result<Change, Vec<String>> {
    let mut change = Change::default();
    let problems: Vec<String> = [
        name(member, wanted, &mut change),
        role(member, wanted, &mut change),
        disk(member, wanted, &mut change),
        node_labels(member, wanted, &mut change),
    ]
    .into_iter()
    .filter_map(Result::err)
    .collect();
    let pool = &member.host.machine_config_pool_name;
    if let Some(wanted) = wanted.config_pool.as_ref().filter(|wanted| *wanted != pool) {
        change.note("config pool", pool, wanted);
        change.params.machine_config_pool_name = Some(wanted.clone());
        change.back.machine_config_pool_name = Some(pool.clone());
    }
    match problems.is_empty() {
        true => Ok(change),
        false => Err(problems),
    }
}

fn name(member: &Member, wanted: &Wanted, change: &mut Change) -> Result<(), String> {
    let before = member.name();
    let Some(name) = &wanted.name else {
        return Ok(());
    };
    if *name == before {
        change.note_same("name", name);
        return Ok(());
    }
    hostname::check(name)?;
    change.note("name", &before, name);
    change.params.host_name = Some(name.clone());
    change.back.host_name = Some(before);
    Ok(())
}

fn role(member: &Member, wanted: &Wanted, change: &mut Change) -> Result<(), String> {
    let before = member.host.role;
    let Some(text) = &wanted.role else {
        return Ok(());
    };
    let role = parse_role(text)?;
    if HostRole::from(role) == before {
        change.note_same("role", text);
        return Ok(());
    }
    change.note("role", before.name(), text);
    change.params.host_role = Some(role);
    change.back.host_role = parse_role(before.name()).ok();
    Ok(())
}

/// A role that a user may give.
pub fn parse_role(text: &str) -> Result<HostRoleUpdate, String> {
    match text {
        "auto-assign" => Ok(HostRoleUpdate::AutoAssign),
        "master" => Ok(HostRoleUpdate::Master),
        "arbiter" => Ok(HostRoleUpdate::Arbiter),
        "worker" => Ok(HostRoleUpdate::Worker),
        _ => Err(format!(
            "{text:?} is no role: write worker, master, arbiter or auto-assign"
        )),
    }
}

fn disk(member: &Member, wanted: &Wanted, change: &mut Change) -> Result<(), String> {
    let Some(text) = &wanted.disk else {
        return Ok(());
    };
    let all = &member.inventory.disks;
    let named = |disk: &&Disk| [&disk.name, &disk.path, &disk.by_id, &disk.serial].contains(&text);
    let found = disks::find(all, text).or_else(|| all.iter().find(named));
    let Some(disk) = found.filter(|_| !text.is_empty()) else {
        // Without an inventory the one that was read is empty.
        if member.host.inventory.is_empty() {
            return Err(format!(
                "disk {text:?}: the host has not reported which disks it has"
            ));
        }
        if let Some(words) = disks::none_listed(all) {
            return Err(format!("disk {text:?}: {words}"));
        }
        let names: Vec<String> = disks::suggested(all)
            .into_iter()
            .map(|disk| format!("{} ({})", disk.name, disk.id))
            .collect();
        return Err(format!(
            "the host has no disk {text:?}; take one of {}",
            names.join(", ")
        ));
    };
    if !disk.installation_eligibility.eligible {
        let why = disk.installation_eligibility.not_eligible_reasons.join("; ");
        return Err(format!("the disk {text:?} cannot be installed to: {why}"));
    }
    let before = &member.host.installation_disk_id;
    if *before == disk.id {
        change.note_same("disk", &format!("{} ({})", disk.name, disk.id));
        return Ok(());
    }
    let choice = |id: &str| {
        vec![DiskConfigParams {
            id: id.to_owned(),
            role: Some(DiskRole::Install),
        }]
    };
    change.note("disk", before, &disk.id);
    change.params.disks_selected_config = Some(choice(&disk.id));
    change.back.disks_selected_config = (!before.is_empty()).then(|| choice(before));
    Ok(())
}

fn node_labels(member: &Member, wanted: &Wanted, change: &mut Change) -> Result<(), String> {
    let before = member.labels();
    let mut after = before.clone();
    for text in &wanted.labels {
        match (text.split_once('='), text.strip_suffix('-')) {
            (Some((key, value)), _) => {
                labels::check(key, value)?;
                after.insert(key.to_owned(), value.to_owned());
            }
            (None, Some(key)) => {
                after.remove(key);
            }
            (None, None) => return Err(format!("the label {text:?} is neither KEY=VALUE nor KEY-")),
        }
    }
    if after == before {
        return Ok(());
    }
    change.note("labels", &label_text(&before), &label_text(&after));
    change.params.node_labels = Some(list(&after));
    change.back.node_labels = Some(list(&before));
    Ok(())
}

fn label_text(labels: &BTreeMap<String, String>) -> String {
    let all: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    all.join(" ")
}

fn list(labels: &BTreeMap<String, String>) -> Vec<KeyValue> {
    let pairs = labels.iter().map(|(key, value)| KeyValue {
        key: key.clone(),
        value: value.clone(),
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::member;
    use super::*;

    #[test]
    fn only_what_differs_is_changed_and_can_be_changed_back() {
        let member = member(7);
        let wanted = Wanted {
            name: Some("node-7".into()),
            role: Some("worker".into()),
            disk: Some("DISK-7".into()),
            labels: vec!["rack=r2".into(), "zone-".into()],
            config_pool: Some("infra".into()),
        };
        let change = change(&member, &wanted).unwrap();
        assert_eq!(
            change.lines,
            [
                "name: host-7 -> node-7",
                "disk: (none) -> a",
                "labels: rack=r1 zone= -> rack=r2",
                "config pool: (none) -> infra"
            ]
        );
        assert_eq!(change.same, ["role: worker, as it was"]);
        assert_eq!(change.params.host_role, None);
        assert_eq!(change.back.host_name.as_deref(), Some("host-7"));
        assert_eq!(change.back.disks_selected_config, None);
    }

    #[test]
    fn everything_that_is_wrong_is_told() {
        let wanted = Wanted {
            name: Some("Node 7".into()),
            role: Some("boss".into()),
            disk: Some("sdz".into()),
            labels: vec!["x".into()],
            config_pool: None,
        };
        let problems = change(&member(7), &wanted).unwrap_err();
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(problems[2].contains("vda (a)"), "{problems:?}");
    }

    #[test]
    fn a_host_without_disks_is_told_apart_from_one_that_has_not_reported() {
        let wanted = Wanted {
            disk: Some("vda".into()),
            ..Default::default()
        };
        let mut member = member(7);
        member.inventory.disks.clear();
        let problems = change(&member, &wanted).unwrap_err();
        assert!(
            problems[0].contains("The host lists no disks at all"),
            "{problems:?}"
        );
        member.host.inventory.clear();
        let problems = change(&member, &wanted).unwrap_err();
        assert!(
            problems[0].contains("has not reported which disks"),
            "{problems:?}"
        );
    }
}
