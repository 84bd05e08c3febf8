//! Converts hosts to rows of `hosts` and back.

use std::borrow::Cow;
use std::sync::Arc;

use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;
use muster_core::record::{Host, HostData, HostReports, HostState, Secret};
use muster_core::rules::findings::OF_HEALTH;
use sqlx::any::AnyRow;

use super::brief::HostBrief;
use super::document_cache::{KnownDocuments, Sizes};
use super::found_row::FoundRow;
use crate::Result;
use crate::row::{Json, Reading, Sealed, row};
use crate::store::Store;
use crate::vault::Vault;

pub(crate) const HOST_KEY: &[&str] = HostRow::KEY;

/// The table of bootstrap data.
pub(super) const BOOTSTRAP_DATA: &str = "host_bootstrap_data";

/// The column of the tables of documents.
pub(super) const DOCUMENT: &str = "document";

row! {
    HostRow<'a> of "hosts" by [infra_env_id, id] {
        id: HostId,
        infra_env_id: InfraEnvId,
        cluster_id: Option<ClusterId>,
        status: HostStatus,
        version: i64,
        due_at: Option<Timestamp>,
        checked_in_at: Timestamp,
        host_clock: i64,
        host_clock_at: Option<Timestamp>,
        agent_version: String,
        hostname: String,
        macs: String,
        state: Json<Cow<'a, HostState>>,
        data: Sealed<Json<Cow<'a, HostData>>>,
        has_inventory: bool,
        sleep: i64,
        unhealthy: i64,
        created_at: Timestamp,
    }
}

/// `sleep` of a host that sleeps, or did not wake.
pub(super) const SLEEPS: i64 = 1;

/// `sleep` of a host whose BMC has to switch it off or to boot it.
pub(super) const SLEEP_CHANGES: i64 = 2;

fn sleep(host: &Host) -> i64 {
    match &host.data.sleep {
        None => 0,
        Some(sleep) if sleep.is_changing() => SLEEP_CHANGES,
        Some(_) => SLEEPS,
    }
}

/// A bit for each kind of [`OF_HEALTH`] that the host has a finding of.
fn unhealthy(host: &Host) -> i64 {
    let has = |kind: &str| host.data.findings.iter().any(|finding| finding.kind == kind);
    OF_HEALTH
        .iter()
        .zip(0_u32..)
        .filter(|(kind, _)| has(kind))
        .map(|(_, bit)| 1_i64 << bit)
        .sum()
}

impl<'a> HostRow<'a> {
    pub(super) fn of(host: &'a Host, version: i64) -> Self {
        let inventory = host.inventory.as_deref();
        Self {
            id: host.id,
            infra_env_id: host.infra_env_id,
            cluster_id: host.cluster_id,
            status: host.state.status(),
            version,
            due_at: host.due_at,
            checked_in_at: host.checked_in_at,
            host_clock: host.data.timestamp,
            host_clock_at: host.data.timestamp_at,
            agent_version: host.data.discovery_agent_version.clone(),
            hostname: inventory.map_or_else(
                || host.data.reported_hostname.clone(),
                |inventory| inventory.hostname.clone(),
            ),
            macs: inventory.map_or_else(String::new, macs),
            state: Json(Cow::Borrowed(&host.state)),
            data: Sealed(Json(Cow::Borrowed(&host.data))),
            has_inventory: inventory.is_some(),
            sleep: sleep(host),
            unhealthy: unhealthy(host),
            created_at: host.data.created_at,
        }
    }
}

impl Store {
    /// The host of a row. Its documents are kept for a while.
    pub(super) fn host_from(&self, found: &FoundRow) -> Result<Host> {
        let (host, sizes) = host_from(self.vault(), found)?;
        if found.known.is_none() {
            let documents = KnownDocuments::of(&host, host.version, sizes);
            self.documents().keep(host.id, documents);
        }
        Ok(host)
    }
}

fn host_from(vault: &Vault, found: &FoundRow) -> Result<(Host, Sizes)> {
    let row = &found.row;
    let reading = Reading::new(row, HostRow::TABLE, HOST_KEY).sealed(vault);
    let (inventory, reports, sizes) = match &found.known {
        Some(known) => (known.inventory.clone(), Arc::clone(&known.reports), known.sizes),
        None => documents(&reading)?,
    };
    let bootstrap: Option<Sealed<String>> = reading.get_of(BOOTSTRAP_DATA, DOCUMENT, "bootstrap")?;
    let row = HostRow::read(&reading)?;
    let host = Host {
        id: row.id,
        infra_env_id: row.infra_env_id,
        cluster_id: row.cluster_id,
        state: row.state.0.into_owned(),
        version: row.version,
        due_at: row.due_at,
        checked_in_at: row.checked_in_at,
        inventory,
        reports,
        bootstrap_ignition: bootstrap.map(|sealed| Secret::new(sealed.0)).unwrap_or_default(),
        data: data(
            row.data.0,
            (row.host_clock, row.host_clock_at),
            row.agent_version,
            row.hostname,
        ),
    };
    Ok((host, sizes))
}

/// Inventory and reports that were read.
fn documents(reading: &Reading<'_>) -> Result<(Option<Arc<Inventory>>, Arc<HostReports>, Sizes)> {
    let inventory: Option<Json<Inventory>> = reading.get("inventory")?;
    let reports: Option<Json<HostReports>> = reading.get("reports")?;
    let sizes = Sizes {
        inventory: reading.length("inventory"),
        reports: reading.length("reports"),
    };
    Ok((
        inventory.map(|document| Arc::new(document.0)),
        reports.map(|document| Arc::new(document.0)).unwrap_or_default(),
        sizes,
    ))
}

pub(super) fn brief_from(vault: &Vault, row: &AnyRow) -> Result<HostBrief> {
    let row = HostRow::read(&Reading::new(row, HostRow::TABLE, HOST_KEY).sealed(vault))?;
    Ok(HostBrief {
        id: row.id,
        infra_env_id: row.infra_env_id,
        cluster_id: row.cluster_id,
        state: row.state.0.into_owned(),
        version: row.version,
        due_at: row.due_at,
        checked_in_at: row.checked_in_at,
        data: data(
            row.data.0,
            (row.host_clock, row.host_clock_at),
            row.agent_version,
            row.hostname,
        ),
        has_inventory: row.has_inventory,
    })
}

/// Polls write the clock and the agent's version into columns of their own, which are newer than the document. Hosts of earlier versions
/// have their reported name only in its column.
fn data(
    document: Json<Cow<'_, HostData>>,
    (clock, clock_at): (i64, Option<Timestamp>),
    agent_version: String,
    reported_hostname: String,
) -> HostData {
    let mut data = document.0.into_owned();
    data.timestamp = clock;
    data.timestamp_at = clock_at.or(data.timestamp_at);
    data.discovery_agent_version = agent_version;
    data.reported_hostname = reported_hostname;
    data
}

/// ` aa:bb:.. cc:dd:.. `, to be searched with `LIKE`.
fn macs(inventory: &Inventory) -> String {
    let mut macs = String::from(" ");
    for interface in &inventory.interfaces {
        macs.push_str(&interface.mac_address.to_ascii_lowercase());
        macs.push(' ');
    }
    macs
}
