//! `muster host bind`.

use anyhow::Result;
use clap::Args;
use muster_api::cluster::BindHostParams;
use muster_api::host::Host;
use muster_api::jobs::JobAction;

use super::chosen::each;
use super::many::HostsArgs;
use crate::cli::arguments::names;
use crate::cli::service::{Client, ServiceArgs};

/// The hosts, and their cluster.
#[derive(Debug, Args)]
pub struct BindArgs {
    #[command(flatten)]
    chosen: HostsArgs,

    /// Name, id, or beginning of the id of the cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: String,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Binds the hosts.
pub async fn run(args: BindArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let cluster = names::cluster(&client, &args.cluster).await?;
    if args.chosen.is_query() {
        let action = JobAction::Bind { cluster: cluster.id };
        return args.chosen.run(&client, action).await;
    }
    let body = BindHostParams {
        cluster_id: cluster.id,
    };
    each(&args.chosen.find(&client).await?, async |member| {
        let path = format!("{}/actions/bind", member.path());
        let host: Host = client.post(&path, &body).await?;
        let state = host.status.map_or("-", |status| status.name());
        Ok(format!(
            "goes to cluster {}: {state}. Its agent registers there by itself, within minutes",
            cluster.name
        ))
    })
    .await
}
