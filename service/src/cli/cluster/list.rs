//! `muster cluster list`.

use anyhow::Result;
use muster_api::cluster::Cluster;

use super::show::status;
use crate::cli::list::ListArgs;
use crate::cli::output::{Column, Fit};
use crate::cli::service::Client;

const COLUMNS: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("STATUS", Fit::Always),
    Column("OPENSHIFT", Fit::Room(0)),
    Column("HOSTS", Fit::Room(2)),
    Column("API", Fit::Room(1)),
    Column("ID", Fit::Always),
];

/// Lists all.
pub async fn run(args: ListArgs) -> Result<()> {
    let path = "/clusters?with_hosts=true";
    args.list(path, COLUMNS, row, |one| one.id.to_string()).await
}

async fn row(_: &Client, one: &Cluster) -> Result<Vec<String>> {
    Ok(vec![
        one.name.clone(),
        status(one),
        one.openshift_version.clone(),
        one.hosts.len().to_string(),
        one.api_vip_dns_name.clone(),
        one.id.to_string(),
    ])
}
