//! `muster host unbind`.

use anyhow::Result;
use clap::Args;

use super::chosen::{ChosenArgs, each};
use crate::cli::service::{Client, ServiceArgs};

/// The hosts to unbind.
#[derive(Debug, Args)]
pub struct UnbindArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Unbinds the hosts.
pub async fn run(args: UnbindArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    each(&args.chosen.find(&client).await?, async |member| {
        client.act(&format!("{}/actions/unbind", member.path())).await?;
        Ok(format!("leaves {}", member.cluster))
    })
    .await
}
