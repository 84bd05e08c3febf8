//! `muster host unbind`.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::JobAction;

use super::chosen::each;
use super::many::HostsArgs;
use crate::cli::service::{Client, ServiceArgs};

/// The hosts to unbind.
#[derive(Debug, Args)]
pub struct UnbindArgs {
    #[command(flatten)]
    chosen: HostsArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Unbinds the hosts.
pub async fn run(args: UnbindArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if args.chosen.is_query() {
        return args.chosen.run(&client, JobAction::Unbind).await;
    }
    each(&args.chosen.find(&client).await?, async |member| {
        client.act(&format!("{}/actions/unbind", member.path())).await?;
        Ok(format!("leaves {}", member.cluster))
    })
    .await
}
