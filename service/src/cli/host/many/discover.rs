//! `muster host discover`.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::JobAction;

use super::OnlyQueryArgs;
use crate::cli::service::{Client, ServiceArgs};

/// The hosts.
#[derive(Debug, Args)]
#[command(mut_arg("query", |arg| arg.required(true)))]
pub struct DiscoverArgs {
    #[command(flatten)]
    hosts: OnlyQueryArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Has the BMCs of the hosts boot them into discovery again.
pub async fn run(args: DiscoverArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    args.hosts.run(&client, "", JobAction::Discover).await
}
