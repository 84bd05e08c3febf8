//! `muster infra-env create`.

use anyhow::Result;
use clap::Args;
use muster_api::infra_env::{CpuArchitecture, InfraEnv, InfraEnvCreateParams, no_pull_secret};

use super::settings::{SettingsArgs, ipxe_script, warn_about_image};
use crate::cli::arguments::names;
use crate::cli::arguments::new_name::NewNameArgs;
use crate::cli::arguments::twins::{note_twin, there_already};
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// Settings of a new InfraEnv.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: NewNameArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Processors of its machines: x86_64, arm64, ppc64le or s390x [default: x86_64]
    #[arg(long, value_name = "ARCHITECTURE", value_parser = architecture)]
    architecture: Option<CpuArchitecture>,

    /// Make it although there is one of this name
    #[arg(long)]
    another: bool,

    /// Cluster that its hosts join by themselves: name or id
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

fn architecture(text: &str) -> Result<CpuArchitecture, &'static str> {
    text.parse().map_err(|_| "write x86_64, arm64, ppc64le or s390x")
}

/// Creates the InfraEnv.
pub async fn run(args: CreateArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let name = args.name.given();
    let before: Vec<InfraEnv> = client.get("/infra-envs").await?;
    let twin = before.iter().find(|other| other.name == name);
    if let Some(twin) = twin.filter(|_| !args.another) {
        return Err(there_already("InfraEnv", &name, twin.id, "infra-env").into());
    }
    let settings = args.settings;
    let params = InfraEnvCreateParams {
        pull_secret: settings.pull_secret()?.unwrap_or_else(no_pull_secret),
        ssh_authorized_key: settings.ssh_keys()?,
        additional_trust_bundle: settings.trust_bundle()?,
        ignition_config_override: settings.ignition_config_override()?,
        proxy: settings.proxy(None),
        kernel_arguments: settings.kernel_arguments(),
        static_network_config: settings.static_networks()?,
        additional_ntp_sources: settings.ntp_sources,
        openshift_version: settings.openshift_version,
        image_type: settings.image_type,
        cleaning: settings.cleaning,
        idle_after: settings.idle_after,
        warm_spares: settings.warm_spares,
        quiet_hours: settings.quiet_hours,
        cpu_architecture: args.architecture,
        cluster_id: names::cluster_id(&client, args.cluster.as_deref()).await?,
        name,
        ..Default::default()
    };
    let made: InfraEnv = client.post("/infra-envs", &params).await?;
    let script = ipxe_script(&made.download_url);
    print(&format!(
        "infra-env  {}\niso        {}\nipxe       {script}\n",
        made.id, made.download_url
    ));
    if let Some(twin) = twin {
        note_twin("InfraEnv", twin.id);
    }
    warn_about_image(&client, &made).await;
    Ok(())
}
