//! `muster cluster show`.

use anyhow::Result;
use clap::Args;
use muster_api::cluster::Cluster;
use serde_json::Value;

use crate::cli::arguments::names;
use crate::cli::output::{Column, Details, Fit, OutputArgs};
use crate::cli::service::{Client, ServiceArgs};

/// The cluster to show.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Its name, its id, or the beginning of its id
    cluster: String,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

const HOSTS: &[Column] = &[
    Column("NAME", Fit::Always),
    Column("STATE", Fit::Always),
    Column("ROLE", Fit::Room(0)),
    Column("ID", Fit::Room(1)),
    Column("WHY", Fit::Text),
];

/// Shows the cluster.
pub async fn run(args: ShowArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let id = names::cluster(&client, &args.cluster).await?.id;
    let found: Cluster = client.get(&format!("/clusters/{id}")).await?;
    details(&found).show(
        &args.output.output,
        &serde_json::to_value(&found)?,
        &id.to_string(),
    )
}

/// Returns the name of the cluster's status, as it is on the wire.
pub fn status(cluster: &Cluster) -> String {
    match serde_json::to_value(cluster.status) {
        Ok(Value::String(name)) => name,
        _ => "-".into(),
    }
}

fn details(one: &Cluster) -> Details {
    let ignition = one
        .ignition_endpoint
        .as_ref()
        .and_then(|endpoint| endpoint.url.clone());
    let mut details = Details::default();
    details
        .line("name", &one.name)
        .line("id", &one.id.to_string())
        .line("status", &status(one))
        .line("why", &one.status_info)
        .line("version", &one.openshift_version)
        .line("own id", &one.openshift_cluster_id)
        .line("base domain", &one.base_dns_domain)
        .line("api", &one.api_vip_dns_name)
        .line("ignition", &ignition.unwrap_or_default())
        .line("created", &one.created_at);
    let rows = one.hosts.iter().map(|host| {
        vec![
            host.requested_hostname.clone(),
            host.status.map_or("-", |status| status.name()).to_owned(),
            host.role.name().to_owned(),
            host.id.to_string(),
            host.status_info.clone().unwrap_or_default(),
        ]
    });
    details.table("Hosts", HOSTS, rows.collect());
    details
}
