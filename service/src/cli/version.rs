//! `muster version`.

use anyhow::Result;
use clap::Args;
use muster_api::versions::ListVersions;
use serde_json::json;

use super::output::{Details, OutputArgs};
use super::service::{Client, ServiceArgs};

/// Parts of a service that have versions, with their names here.
const PARTS: [(&str, &str); 2] = [
    ("service", "assisted-installer-service"),
    ("agent", "discovery-agent"),
];

/// The service, and the format.
#[derive(Debug, Args)]
pub struct VersionArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Prints the version of this program, and those of the service; without a response, only the first, and the error.
pub async fn run(args: VersionArgs) -> Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    let answer = versions(&args.service).await;
    let mut details = Details::default();
    details.line("muster", own);
    let mut json = json!({"muster": own});
    for (part, component) in PARTS {
        let version = answer
            .as_ref()
            .ok()
            .and_then(|found| found.versions.get(component));
        // A user agent has the form NAME/VERSION.
        let version = version.map(|text| {
            text.rsplit_once('/')
                .map_or(text.as_str(), |(_, version)| version)
        });
        details.line(part, version.unwrap_or_default());
        json[part] = version.into();
    }
    details.show(&args.output.output, &json, own)?;
    answer.map(drop)
}

async fn versions(service: &ServiceArgs) -> Result<ListVersions> {
    Client::new(service)?.get("/component-versions").await
}
