//! Converts hosts to rows of `hosts` and back.

use std::borrow::Cow;

use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;
use muster_core::record::{Host, HostData, HostReports, HostState, Secret};
use muster_sql::{Kind, push_tuples};
use sqlx::AnyConnection;
use sqlx::any::AnyRow;

use super::brief::HostBrief;
use super::documents::{BOOTSTRAP_DATA, DOCUMENT};
use super::form::HostForm;
use crate::Result;
use crate::row::{Json, Reading, Sealed, row};
use crate::vault::Vault;

pub(crate) const HOST_KEY: &[&str] = HostRow::KEY;

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
        created_at: Timestamp,
    }
}

impl<'a> HostRow<'a> {
    pub(super) fn of(host: &'a Host, version: i64) -> Self {
        let inventory = host.inventory.as_ref();
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
            created_at: host.data.created_at,
        }
    }
}

/// Statement that reads whole hosts; `rest` follows `FROM hosts`.
pub(super) fn select_hosts(rest: &str) -> String {
    format!(
        "SELECT {}, (SELECT document FROM host_inventories WHERE host_inventories.host_id = hosts.id \
         AND host_inventories.infra_env_id = hosts.infra_env_id) AS inventory, (SELECT document FROM host_reports \
         WHERE host_reports.host_id = hosts.id AND host_reports.infra_env_id = hosts.infra_env_id) AS reports, \
         (SELECT document FROM host_bootstrap_data WHERE host_bootstrap_data.host_id = hosts.id \
         AND host_bootstrap_data.infra_env_id = hosts.infra_env_id) AS bootstrap, (SELECT kube_namespace FROM infra_envs \
         WHERE infra_envs.id = hosts.infra_env_id AND infra_envs.deleted_at IS NULL) AS namespace FROM hosts {rest}",
        HostRow::COLUMNS
    )
}

/// Statement that reads hosts in this form; what it is given follows `FROM hosts`.
pub(super) fn select(form: HostForm) -> fn(&str) -> String {
    match form {
        HostForm::Whole => select_hosts,
        HostForm::Brief => select_briefs,
    }
}

/// The rows of the hosts of these ids that are not deleted, in any order, by one statement.
pub(super) async fn rows_of_ids(
    connection: &mut AnyConnection,
    kind: Kind,
    ids: &[HostId],
    select: impl FnOnce(&str) -> String,
) -> sqlx::Result<Vec<AnyRow>> {
    let mut condition = String::from("WHERE id IN ");
    push_tuples(&mut condition, kind, 1, ids.len());
    condition.push_str(" AND deleted_at IS NULL");
    let query = sqlx::query(sqlx::AssertSqlSafe(select(&condition)));
    ids.iter()
        .fold(query, |query, id| query.bind(id.to_string()))
        .fetch_all(connection)
        .await
}

pub(super) fn host_from(vault: &Vault, row: &AnyRow) -> Result<Host> {
    let reading = Reading::new(row, HostRow::TABLE, HOST_KEY).sealed(vault);
    let inventory: Option<Json<Inventory>> = reading.get("inventory")?;
    let reports: Option<Json<HostReports>> = reading.get("reports")?;
    let bootstrap: Option<Sealed<String>> = reading.get_of(BOOTSTRAP_DATA, DOCUMENT, "bootstrap")?;
    let row = HostRow::read(&reading)?;
    Ok(Host {
        id: row.id,
        infra_env_id: row.infra_env_id,
        cluster_id: row.cluster_id,
        state: row.state.0.into_owned(),
        version: row.version,
        due_at: row.due_at,
        checked_in_at: row.checked_in_at,
        inventory: inventory.map(|document| document.0),
        reports: reports.map(|document| document.0).unwrap_or_default(),
        bootstrap_ignition: bootstrap.map(|sealed| Secret::new(sealed.0)).unwrap_or_default(),
        data: data(
            row.data.0,
            (row.host_clock, row.host_clock_at),
            row.agent_version,
            row.hostname,
        ),
    })
}

/// Statement that reads hosts without their documents; `rest` follows `FROM hosts`.
pub(super) fn select_briefs(rest: &str) -> String {
    format!("SELECT {} FROM hosts {rest}", HostRow::COLUMNS)
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

/// Polls write the clock and the agent's version into columns of their own, which are newer than the document. Hosts of
/// earlier versions have their reported name in its column alone.
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
