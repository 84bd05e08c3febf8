//! `muster host approve`. Approval is a field of the Agent custom resource; the service writes it.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::JobAction;

use super::chosen::request_of;
use super::many::HostsArgs;
use crate::cli::service::{Client, ServiceArgs};

/// The hosts.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    #[command(flatten)]
    chosen: HostsArgs,

    /// Take the approval back
    #[arg(long)]
    revoke: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Approves the hosts.
pub async fn run(args: ApproveArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if args.chosen.is_query() {
        let action = match args.revoke {
            true => JobAction::RevokeApproval,
            false => JobAction::Approve,
        };
        return args.chosen.run(&client, action).await;
    }
    let (action, done) = if args.revoke {
        ("revoke-approval", "not approved any more")
    } else {
        ("approve", "approved")
    };
    request_of(&client, &args.chosen.find(&client).await?, action, done).await
}
