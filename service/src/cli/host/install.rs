//! `muster host install`.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::JobAction;

use super::chosen::each;
use super::many::HostsArgs;
use crate::cli::service::{Client, ServiceArgs};

/// The hosts to install.
#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    chosen: HostsArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Begins the installation of the hosts.
pub async fn run(args: InstallArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if args.chosen.is_query() {
        return args.chosen.run(&client, JobAction::Install).await;
    }
    each(&args.chosen.find(&client).await?, async |member| {
        client.act(&format!("{}/actions/install", member.path())).await?;
        Ok(format!("is installed into {}", member.cluster))
    })
    .await
}
