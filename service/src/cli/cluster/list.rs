//! `muster cluster list`.

use anyhow::Result;
use clap::Args;
use muster_api::cluster::Cluster;

use super::show::status;
use crate::cli::client::Client;
use crate::cli::output::{OutputArgs, show};
use crate::cli::service::ServiceArgs;
use crate::cli::table::{Column, Place, Table};

/// Of which service.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

const COLUMNS: &[Column] = &[
    Column("NAME", Place::Always),
    Column("STATUS", Place::Always),
    Column("VERSION", Place::Room(0)),
    Column("HOSTS", Place::Room(2)),
    Column("API", Place::Room(1)),
    Column("ID", Place::Always),
];

/// Lists all.
pub async fn run(args: ListArgs) -> Result<()> {
    let all: Vec<Cluster> = Client::new(&args.service)?
        .get("/clusters?with_hosts=true")
        .await?;
    let row = |one: &Cluster| {
        vec![
            one.name.clone(),
            status(one),
            one.openshift_version.clone(),
            one.hosts.len().to_string(),
            one.api_vip_dns_name.clone(),
            one.id.to_string(),
        ]
    };
    let table = || Table::new(COLUMNS, all.iter().map(row).collect());
    let names: Vec<String> = all.iter().map(|one| one.id.to_string()).collect();
    show(&args.output.output, table, &serde_json::to_value(&all)?, &names)
}
