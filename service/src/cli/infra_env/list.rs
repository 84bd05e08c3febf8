//! `muster infra-env list`.

use anyhow::Result;
use clap::Args;
use muster_api::infra_env::InfraEnv;

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
    Column("VERSION", Place::Room(0)),
    Column("ID", Place::Always),
    Column("TYPE", Place::Wide),
    Column("CLUSTER", Place::Wide),
    Column("ISO", Place::Text),
];

/// Lists all.
pub async fn run(args: ListArgs) -> Result<()> {
    let all: Vec<InfraEnv> = Client::new(&args.service)?.get("/infra-envs").await?;
    let row = |one: &InfraEnv| {
        vec![
            one.name.clone(),
            one.openshift_version.clone(),
            one.id.to_string(),
            one.image_type.name().to_owned(),
            one.cluster_id.map(|id| id.to_string()).unwrap_or_default(),
            one.download_url.clone(),
        ]
    };
    let table = || Table::new(COLUMNS, all.iter().map(row).collect());
    let names: Vec<String> = all.iter().map(|one| one.id.to_string()).collect();
    show(&args.output.output, table, &serde_json::to_value(&all)?, &names)
}
