//! `muster infra-env delete`.

use anyhow::Result;
use clap::Args;

use crate::cli::arguments::names;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The InfraEnvs to delete.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Names, ids, or beginnings of ids
    #[arg(required = true, value_name = "INFRA_ENV")]
    infra_envs: Vec<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Deletes the InfraEnvs, after all were found.
pub async fn run(args: DeleteArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let mut found = Vec::new();
    for wanted in &args.infra_envs {
        found.push(names::infra_env(&client, wanted).await?);
    }
    for one in found {
        client.delete(&format!("/infra-envs/{}", one.id)).await?;
        print(&format!("infra-env {} deleted ({})\n", one.name, one.id));
    }
    Ok(())
}
