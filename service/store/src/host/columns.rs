//! Between a host and its row.

use muster_api::inventory::Inventory;
use muster_core::host::{Host, HostData, HostReports, HostState};
use sqlx::any::AnyRow;

use super::HostBrief;
use crate::Result;
use crate::row::{Reading, document, micros, storable};

pub(crate) const HOST_KEY: [&str; 2] = ["infra_env_id", "id"];

pub(crate) const HOST_COLUMNS: &str = "id, infra_env_id, cluster_id, state, version, due_at, checked_in_at, host_clock, \
     agent_version, data, (SELECT document FROM host_inventories WHERE host_inventories.host_id = hosts.id \
     AND host_inventories.infra_env_id = hosts.infra_env_id) AS inventory, (SELECT document FROM host_reports \
     WHERE host_reports.host_id = hosts.id AND host_reports.infra_env_id = hosts.infra_env_id) AS reports";

pub(super) const BRIEF_COLUMNS: &str = "id, infra_env_id, cluster_id, state, version, due_at, checked_in_at, host_clock, \
     agent_version, data, hostname, has_inventory";

/// A host's values as they are bound.
pub(super) struct Columns {
    pub(super) cluster_id: Option<String>,
    pub(super) status: &'static str,
    pub(super) version: i64,
    pub(super) due_at: Option<i64>,
    pub(super) checked_in_at: i64,
    pub(super) host_clock: i64,
    pub(super) agent_version: String,
    pub(super) state: String,
    pub(super) data: String,
    pub(super) inventory: InventoryColumns,
    /// What it reports of others; `None`: nothing.
    pub(super) reports: Option<String>,
}

/// An inventory, and what is looked up by.
#[derive(Default)]
pub(super) struct InventoryColumns {
    pub(super) hostname: String,
    pub(super) macs: String,
    pub(super) document: Option<String>,
}

impl Columns {
    pub(super) fn of(host: &Host) -> Result<Self> {
        Ok(Self {
            cluster_id: host.cluster_id.map(|id| id.to_string()),
            status: host.state.status().name(),
            version: host.version,
            due_at: host.due_at.map(micros),
            checked_in_at: micros(host.checked_in_at),
            host_clock: host.data.timestamp,
            agent_version: storable(&host.data.discovery_agent_version),
            state: document("host state", &host.state)?,
            data: document("host data", &host.data)?,
            inventory: inventory_columns(host.inventory.as_ref())?,
            reports: if host.reports == HostReports::default() {
                None
            } else {
                Some(document("host reports", &host.reports)?)
            },
        })
    }
}

fn inventory_columns(inventory: Option<&Inventory>) -> Result<InventoryColumns> {
    let Some(inventory) = inventory else {
        return Ok(InventoryColumns::default());
    };
    let mut macs = String::from(" ");
    for interface in &inventory.interfaces {
        macs.push_str(&storable(&interface.mac_address).to_ascii_lowercase());
        macs.push(' ');
    }
    Ok(InventoryColumns {
        hostname: storable(&inventory.hostname),
        macs,
        document: Some(document("inventory", inventory)?),
    })
}

pub(crate) fn host_from(row: &AnyRow) -> Result<Host> {
    let reading = Reading::new(row, "hosts", &HOST_KEY);
    Ok(Host {
        id: reading.parsed("id")?,
        infra_env_id: reading.parsed("infra_env_id")?,
        cluster_id: reading.parsed_or_none("cluster_id")?,
        state: reading.document("state")?,
        version: reading.number("version")?,
        due_at: reading.moment_or_none("due_at")?,
        checked_in_at: reading.moment("checked_in_at")?,
        inventory: reading.document_or_none("inventory")?,
        reports: reading.document_or_none("reports")?.unwrap_or_default(),
        data: data_from(&reading)?,
    })
}

pub(super) fn brief_from(row: &AnyRow) -> Result<HostBrief> {
    let reading = Reading::new(row, "hosts", &HOST_KEY);
    Ok(HostBrief {
        id: reading.parsed("id")?,
        infra_env_id: reading.parsed("infra_env_id")?,
        cluster_id: reading.parsed_or_none("cluster_id")?,
        state: reading.document::<HostState>("state")?,
        version: reading.number("version")?,
        due_at: reading.moment_or_none("due_at")?,
        checked_in_at: reading.moment("checked_in_at")?,
        data: data_from(&reading)?,
        has_inventory: reading.number("has_inventory")? != 0,
        reported_hostname: reading.text("hostname")?,
    })
}

/// What polls bring is newer in its own columns than in the document. A clock that came by a poll was told at that poll.
fn data_from(reading: &Reading<'_>) -> Result<HostData> {
    let mut data: HostData = reading.document("data")?;
    let clock = reading.number("host_clock")?;
    if clock != data.timestamp {
        data.timestamp = clock;
        data.timestamp_at = Some(reading.moment("checked_in_at")?);
    }
    data.discovery_agent_version = reading.text("agent_version")?;
    Ok(data)
}
