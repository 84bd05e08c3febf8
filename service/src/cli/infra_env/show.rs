//! `muster infra-env show`.

use anyhow::Result;
use clap::Args;
use muster_api::infra_env::InfraEnv;

use super::settings::ipxe_script;
use crate::cli::client::Client;
use crate::cli::details::Details;
use crate::cli::names;
use crate::cli::output::OutputArgs;
use crate::cli::service::ServiceArgs;

/// Which one.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Its name, its id, or the beginning of its id
    infra_env: String,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Shows it.
pub async fn run(args: ShowArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    let id = found.id.to_string();
    details(&found).show(&args.output.output, &serde_json::to_value(&found)?, &id)
}

fn details(one: &InfraEnv) -> Details {
    let proxy = &one.proxy;
    let mut details = Details::default();
    details
        .line("name", &one.name)
        .line("id", &one.id.to_string())
        .line("version", &one.openshift_version)
        .line("image", one.image_type.name())
        .line("processors", one.cpu_architecture.name())
        .line(
            "cluster",
            &one.cluster_id.map(|id| id.to_string()).unwrap_or_default(),
        )
        .line("iso", &one.download_url)
        .line("ipxe", &ipxe_script(&one.download_url))
        .line("ssh keys", &one.ssh_authorized_key)
        .line("ntp sources", &one.additional_ntp_sources)
        .line("http proxy", proxy.http_proxy.as_deref().unwrap_or_default())
        .line("https proxy", proxy.https_proxy.as_deref().unwrap_or_default())
        .line("no proxy", proxy.no_proxy.as_deref().unwrap_or_default())
        .line(
            "kernel arguments",
            one.kernel_arguments.as_deref().unwrap_or_default(),
        )
        .line("static networks", &one.static_network_config)
        .line("created", &one.created_at)
        .line("updated", &one.updated_at);
    details
}
