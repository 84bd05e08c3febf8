//! The statements that read hosts.

use crate::host::row::HostRow;

/// The column of a whole host that is true when its documents were cached and therefore not read.
pub(super) const DOCUMENTS_KNOWN: &str = "documents_known";

/// A host's inventory.
const INVENTORY: &str = "(SELECT document FROM host_inventories WHERE host_inventories.host_id = hosts.id \
    AND host_inventories.infra_env_id = hosts.infra_env_id)";

/// Its reports about others.
const REPORTS: &str = "(SELECT document FROM host_reports WHERE host_reports.host_id = hosts.id \
    AND host_reports.infra_env_id = hosts.infra_env_id)";

/// Statement that reads whole hosts; `known` follows `FROM`: tuples of host, InfraEnv and a version with cached inventory and reports.
pub(super) fn select_hosts(known: &str) -> String {
    const KNOWN: &str = "hosts.infra_env_id = known.column2 AND hosts.version = known.column3";
    format!(
        "SELECT {}, CASE WHEN {KNOWN} THEN 1 ELSE 0 END AS {DOCUMENTS_KNOWN}, \
         CASE WHEN {KNOWN} THEN NULL ELSE {INVENTORY} END AS inventory, \
         CASE WHEN {KNOWN} THEN NULL ELSE {REPORTS} END AS reports, \
         (SELECT document FROM host_bootstrap_data WHERE host_bootstrap_data.host_id = hosts.id \
         AND host_bootstrap_data.infra_env_id = hosts.infra_env_id) AS bootstrap, (SELECT kube_namespace || '/' || kube_name \
         FROM infra_envs WHERE infra_envs.id = hosts.infra_env_id AND infra_envs.deleted_at IS NULL) AS resource \
         FROM (VALUES {known}) AS known CROSS JOIN hosts WHERE hosts.id = known.column1 AND hosts.deleted_at IS NULL",
        HostRow::COLUMNS
    )
}

/// Statement that reads hosts without their documents; `rest` follows `FROM hosts`.
pub(super) fn select_briefs(rest: &str) -> String {
    format!("SELECT {} FROM hosts {rest}", HostRow::COLUMNS)
}

/// Statement that reads hosts with the parts of their documents that lists show; `rest` follows `FROM hosts`.
pub(super) fn select_listed(rest: &str) -> String {
    format!(
        "SELECT {}, {INVENTORY} AS inventory, {REPORTS} AS reports FROM hosts {rest}",
        HostRow::COLUMNS
    )
}
