//! `muster host approve`. Approval is a field of the Agent custom resource; the service writes it.

use anyhow::Result;
use clap::Args;

use super::chosen::{ChosenArgs, request_of_each};
use crate::cli::service::{Client, ServiceArgs};

/// The hosts.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    /// Take the approval back
    #[arg(long)]
    revoke: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Approves the hosts.
pub async fn run(args: ApproveArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let (action, done) = if args.revoke {
        ("revoke-approval", "not approved any more")
    } else {
        ("approve", "approved")
    };
    request_of_each(&client, &args.chosen, action, done).await
}
