//! `muster host forget-failures`.

use anyhow::Result;
use clap::Args;

use super::chosen::{ChosenArgs, request_of_each};
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
    request_of_each(&client, &args.chosen, "forget-failures", "may be taken again").await
}
