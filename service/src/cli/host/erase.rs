//! `muster host erase`.

use anyhow::Result;
use clap::Args;

use super::chosen::{ChosenArgs, request_of_each};
use crate::cli::service::{Client, ServiceArgs};

/// The hosts whose disks could not be erased after they left a cluster, and what is to become of them.
#[derive(Debug, Args)]
pub struct EraseArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    #[command(flatten)]
    way: WayArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct WayArgs {
    /// Try again, with what the InfraEnv has as its cleaning now
    #[arg(long)]
    retry: bool,

    /// Make them available as they are: what their last cluster left stays on the disks
    #[arg(long)]
    skip: bool,
}

/// Frees the hosts.
pub async fn run(args: EraseArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let (action, done) = if args.way.skip {
        ("skip-erasure", "is available without erasure")
    } else {
        ("retry-erasure", "is erased again")
    };
    request_of_each(&client, &args.chosen, action, done).await
}
