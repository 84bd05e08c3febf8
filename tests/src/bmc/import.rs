//! Adds BMCs like a user.

use std::fs;

use muster_api::ids::InfraEnvId;

use crate::service::Service;

/// The columns of [`line`].
const COLUMNS: &str = "address,name,user,password";

/// A line of an import's table with the default user and password of the lab's BMCs.
pub fn line(address: &str, name: &str) -> String {
    format!("{address},{name},admin,password")
}

/// `muster bmc import` with these lines, each a [`line`], into that InfraEnv.
///
/// # Panics
/// If the command fails.
#[track_caller]
pub fn import(service: &Service, infra_env: InfraEnvId, lines: &[String]) {
    import_table(service, infra_env, COLUMNS, lines);
}

/// The same with lines of these columns.
///
/// # Panics
/// If the command fails.
#[track_caller]
pub fn import_table(service: &Service, infra_env: InfraEnvId, columns: &str, lines: &[String]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = folder.path().join("rack.csv");
    let content = format!("{columns}\n{}\n", lines.join("\n"));
    fs::write(&table, content).expect("a file can be written");
    let said = service.muster(&[
        "bmc",
        "import",
        &table.display().to_string(),
        "--infra-env",
        &infra_env.to_string(),
        "--url",
        service.client().base(),
    ]);
    let counted = format!("{} BMC", lines.len());
    assert!(said.contains(&counted), "{said}");
}
