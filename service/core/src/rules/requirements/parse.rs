//! Parses requirements as an operator writes them: a JSON list of entries, each for a version. Source:
//! docs/protocol/hardware-requirements.md#1.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use super::by_version::Requirements;
use super::roles::{RoleRequirements, RoleTable};
use super::version::Version;

/// The error of a list of requirements.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages document it")]
pub enum BadRequirements {
    #[error("hardware requirements are not a JSON list of entries: {0}")]
    NotUnderstood(String),
    #[error("hardware requirements: entry {0} has no version; write \"default\" or an OpenShift version")]
    NoVersion(usize),
    #[error(
        "hardware requirements for {version}: match_type {found:?} is not known; write \"exact\" (or leave it out) or \"min_version\""
    )]
    MatchType { version: String, found: String },
    #[error(
        "hardware requirements: min_version {0:?} is not a version; write it as numbers with dots, as in 4.22"
    )]
    NotAVersion(String),
    #[error("hardware requirements for {0} are given twice; keep one of the entries")]
    Twice(String),
    #[error(
        "hardware requirements since {0} need an entry with the version \"default\" that they can differ from"
    )]
    NeedsDefault(String),
    #[error("hardware requirements for {version}: {role}.{field} is {found}, and must be {wanted}")]
    Number {
        version: String,
        role: &'static str,
        field: &'static str,
        found: String,
        wanted: &'static str,
    },
}

/// One entry of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    version: String,
    #[serde(default)]
    match_type: String,
    master: Option<Details>,
    arbiter: Option<Details>,
    worker: Option<Details>,
    sno: Option<Details>,
    #[serde(rename = "edge-worker")]
    edge_worker: Option<Details>,
}

/// The part of an entry about a role. Zero and absent are the same.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Details {
    cpu_cores: i64,
    ram_mib: i64,
    disk_size_gb: i64,
    installation_disk_speed_threshold_ms: i64,
    network_latency_threshold_ms: Option<f64>,
    packet_loss_percentage: Option<f64>,
    /// Part of the returned form of requirements; never required.
    #[serde(rename = "tpm_enabled_in_bios")]
    _tpm_enabled_in_bios: Option<bool>,
}

const DEFAULT: &str = "default";

/// Parses a list of requirements. Versions that the list omits, and an empty list, have the built-in requirements.
///
/// # Errors
/// If the list cannot be used; the message names entry, role and number.
pub fn parse(json: &str) -> Result<Requirements, BadRequirements> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let entries: Vec<Entry> = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| BadRequirements::NotUnderstood(error.to_string()))?;
    reader
        .end()
        .map_err(|error| BadRequirements::NotUnderstood(error.to_string()))?;
    let shipped = Requirements::default();
    if entries.is_empty() {
        return Ok(shipped);
    }
    let default = match entries.iter().find(|entry| entry.version == DEFAULT) {
        Some(entry) => Some(table(entry, None)?),
        None => None,
    };
    let (mut exact, mut since) = (BTreeMap::new(), BTreeMap::new());
    let mut defaults = 0;
    for (index, entry) in entries.iter().enumerate() {
        let version = entry.version.as_str();
        let twice = || BadRequirements::Twice(version.to_owned());
        match (version, entry.match_type.as_str()) {
            ("", _) => return Err(BadRequirements::NoVersion(index + 1)),
            (DEFAULT, "" | "exact") => {
                defaults += 1;
                if defaults > 1 {
                    return Err(twice());
                }
            }
            (_, "" | "exact") => {
                let table = table(entry, default.as_ref())?;
                if exact.insert(version.to_owned(), table).is_some() {
                    return Err(twice());
                }
            }
            (_, "min_version") => {
                let least = Version::parse(version)
                    .ok_or_else(|| BadRequirements::NotAVersion(version.to_owned()))?;
                if default.is_none() {
                    return Err(BadRequirements::NeedsDefault(version.to_owned()));
                }
                if since.insert(least, table(entry, default.as_ref())?).is_some() {
                    return Err(twice());
                }
            }
            (_, found) => {
                return Err(BadRequirements::MatchType {
                    version: version.to_owned(),
                    found: found.to_owned(),
                });
            }
        }
    }
    Ok(Requirements {
        since: if default.is_some() { since } else { shipped.since },
        default: default.unwrap_or(shipped.default),
        exact,
        edge_products: shipped.edge_products,
        disabled_checks: shipped.disabled_checks,
    })
}

/// The table of an entry: over `default` field by field; without one, arbiter and edge worker are as the worker.
fn table(entry: &Entry, default: Option<&RoleTable>) -> Result<RoleTable, BadRequirements> {
    let nothing = Details::default();
    let worker = entry.worker.as_ref().unwrap_or(&nothing);
    let like_worker = if default.is_some() { &nothing } else { worker };
    let role = |name, said: Option<&Details>, otherwise: &Details, base: Option<&RoleRequirements>| {
        let row = merge(said.unwrap_or(otherwise), base);
        check(&entry.version, name, &row).map(|()| row)
    };
    Ok(RoleTable {
        master: role(
            "master",
            entry.master.as_ref(),
            &nothing,
            default.map(|t| &t.master),
        )?,
        arbiter: role(
            "arbiter",
            entry.arbiter.as_ref(),
            like_worker,
            default.map(|t| &t.arbiter),
        )?,
        worker: role(
            "worker",
            entry.worker.as_ref(),
            &nothing,
            default.map(|t| &t.worker),
        )?,
        sno: role("sno", entry.sno.as_ref(), &nothing, default.map(|t| &t.sno))?,
        edge_worker: role(
            "edge-worker",
            entry.edge_worker.as_ref(),
            like_worker,
            default.map(|t| &t.edge_worker),
        )?,
    })
}

fn merge(said: &Details, base: Option<&RoleRequirements>) -> RoleRequirements {
    let number = |said: i64, base: Option<i64>| if said == 0 { base.unwrap_or(0) } else { said };
    RoleRequirements {
        cpu_cores: number(said.cpu_cores, base.map(|b| b.cpu_cores)),
        ram_mib: number(said.ram_mib, base.map(|b| b.ram_mib)),
        disk_size_gb: number(said.disk_size_gb, base.map(|b| b.disk_size_gb)),
        installation_disk_speed_threshold_ms: number(
            said.installation_disk_speed_threshold_ms,
            base.map(|b| b.installation_disk_speed_threshold_ms),
        ),
        network_latency_threshold_ms: said
            .network_latency_threshold_ms
            .or_else(|| base?.network_latency_threshold_ms),
        packet_loss_percentage: said
            .packet_loss_percentage
            .or_else(|| base?.packet_loss_percentage),
    }
}

fn check(version: &str, role: &'static str, row: &RoleRequirements) -> Result<(), BadRequirements> {
    let wrong = |field, found: String, wanted| BadRequirements::Number {
        version: version.to_owned(),
        role,
        field,
        found,
        wanted,
    };
    for (field, found) in [
        ("cpu_cores", row.cpu_cores),
        ("ram_mib", row.ram_mib),
        ("disk_size_gb", row.disk_size_gb),
    ] {
        if found <= 0 {
            return Err(wrong(field, found.to_string(), "more than 0"));
        }
    }
    let speed = row.installation_disk_speed_threshold_ms;
    if speed < 0 {
        return Err(wrong(
            "installation_disk_speed_threshold_ms",
            speed.to_string(),
            "0 or more",
        ));
    }
    for (field, found) in [
        ("network_latency_threshold_ms", row.network_latency_threshold_ms),
        ("packet_loss_percentage", row.packet_loss_percentage),
    ] {
        if let Some(found) = found.filter(|found| *found < 0.0) {
            return Err(wrong(field, found.to_string(), "0 or more, or null"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
