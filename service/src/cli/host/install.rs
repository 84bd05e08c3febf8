//! `muster host install`.

use anyhow::Result;
use clap::Args;

use super::chosen::{ChosenArgs, each};
use crate::cli::service::{Client, ServiceArgs};

/// The hosts to install.
#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Begins the installation of the hosts.
pub async fn run(args: InstallArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    each(&args.chosen.find(&client).await?, async |member| {
        client.act(&format!("{}/actions/install", member.path())).await?;
        Ok(format!("is installed into {}", member.cluster))
    })
    .await
}
