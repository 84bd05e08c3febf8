//! `muster status`.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::search::FoundHosts;
use serde_json::json;

use super::failure::{Failure, Kind};
use super::fleet;
use super::output::{Details, OutputArgs};
use super::service::{Client, ServiceArgs, ready};

/// The service, and the format.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Shows the status; fails if the service is not ready.
pub async fn run(args: StatusArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let ready = ready::read(&client).await?;
    let infra_envs = fleet::infra_envs(&client).await?;
    let clusters = fleet::clusters(&client).await?;
    let counts = format!("{MUSTER_PATH}/hosts?limit=1&facets=state");
    let found: FoundHosts = client.get(&counts).await?;
    let hosts = found.total;
    let values = found.facets.into_iter().flat_map(|facet| facet.values);
    let states: BTreeMap<String, usize> = values.map(|counted| (counted.value, counted.hosts)).collect();
    let counted: Vec<String> = states
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let mut details = Details::default();
    details
        .line("service", client.base())
        .line("status", &ready.status)
        .line("database", &ready.database)
        .line("live image", &ready.live_image);
    for (version, state) in &ready.coreos_images {
        details.line("coreos image", &format!("{version}: {state}"));
    }
    details
        .line("kubernetes api", &ready.kubernetes)
        .line("jobs", &ready.jobs)
        .line("infra-envs", &infra_envs.len().to_string())
        .line("clusters", &clusters.len().to_string())
        .line(
            "hosts",
            &format!(
                "{hosts} {}",
                match counted.is_empty() {
                    true => String::new(),
                    false => format!("({})", counted.join(", ")),
                }
            ),
        );
    let json = json!({"service": client.base(), "ready": ready, "infra_envs": infra_envs.len(), "clusters": clusters.len(), "hosts": states});
    details.show(&args.output.output, &json, client.base())?;
    match ready.status.as_str() {
        "ready" => Ok(()),
        other => Err(Failure::new(Kind::Failed, format!("the service is {other}")).into()),
    }
}
