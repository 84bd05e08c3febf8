//! `muster infra-env list`.

use anyhow::Result;
use muster_api::infra_env::InfraEnv;

use crate::cli::fleet::host_count;
use crate::cli::list::ListArgs;
use crate::cli::output::{Column, Fit};
use crate::cli::service::Client;

const COLUMNS: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("HOSTS", Fit::Room(1)),
    Column("OPENSHIFT", Fit::Room(0)),
    Column("ID", Fit::Always),
    Column("TYPE", Fit::Wide),
    Column("CLUSTER", Fit::Wide),
    Column("ISO", Fit::Text),
];

/// Lists all.
pub async fn run(args: ListArgs) -> Result<()> {
    args.list("/infra-envs", COLUMNS, row, |one| one.id.to_string())
        .await
}

async fn row(client: &Client, one: &InfraEnv) -> Result<Vec<String>> {
    Ok(vec![
        one.name.clone(),
        host_count(client, one.id).await?.to_string(),
        one.openshift_version.clone(),
        one.id.to_string(),
        one.image_type.name().to_owned(),
        one.cluster_id.map(|id| id.to_string()).unwrap_or_default(),
        one.download_url.clone(),
    ])
}
