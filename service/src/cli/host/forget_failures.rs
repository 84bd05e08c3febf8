//! `muster host forget-failures`.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;

use super::chosen::{ChosenArgs, each};
use crate::cli::service::{Client, ServiceArgs};

/// The hosts that count as healthy again.
#[derive(Debug, Args)]
pub struct ForgetFailuresArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Frees the hosts.
pub async fn run(args: ForgetFailuresArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    each(&args.chosen.find(&client).await?, async |member| {
        client
            .act(&format!("{MUSTER_PATH}{}/actions/forget-failures", member.path()))
            .await?;
        Ok("may be taken again".into())
    })
    .await
}
