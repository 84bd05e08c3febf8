//! `muster cluster delete`.

use anyhow::Result;
use clap::Args;

use crate::cli::arguments::names;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The clusters to delete.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Names, ids, or beginnings of ids
    #[arg(required = true, value_name = "CLUSTER")]
    clusters: Vec<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Deletes the clusters, after all were found.
pub async fn run(args: DeleteArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let mut found = Vec::new();
    for wanted in &args.clusters {
        found.push(names::cluster(&client, wanted).await?);
    }
    for one in found {
        client.delete(&format!("/clusters/{}", one.id)).await?;
        print(&format!("cluster {} deleted ({})\n", one.name, one.id));
    }
    Ok(())
}
