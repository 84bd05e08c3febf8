//! `muster infra-env update`.

use anyhow::Result;
use clap::Args;
use muster_api::infra_env::{InfraEnv, InfraEnvUpdateParams};

use super::settings::SettingsArgs;
use crate::cli::arguments::names;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The InfraEnv, and its changes. Settings that are not given stay as they are; an empty text clears.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// Its name, its id, or the beginning of its id
    infra_env: String,

    #[command(flatten)]
    settings: SettingsArgs,

    /// InfraEnv resource that may take it over with its hosts, by the annotation infraenv.agent-install.openshift.io/adopt
    #[arg(long, value_name = "NAMESPACE/NAME")]
    offer_to: Option<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Changes the InfraEnv.
pub async fn run(args: UpdateArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    let settings = args.settings;
    let params = InfraEnvUpdateParams {
        pull_secret: settings.pull_secret()?,
        ssh_authorized_key: settings.ssh_keys()?,
        additional_trust_bundle: settings.trust_bundle()?,
        ignition_config_override: settings.ignition_config_override()?,
        proxy: settings.proxy(Some(&found.proxy)),
        kernel_arguments: settings.kernel_arguments(),
        static_network_config: settings.static_networks()?,
        additional_ntp_sources: settings.ntp_sources,
        openshift_version: settings.openshift_version,
        image_type: settings.image_type,
        cleaning: settings.cleaning,
        idle_after: settings.idle_after,
        warm_spares: settings.warm_spares,
        quiet_hours: settings.quiet_hours,
        offered_to: args.offer_to,
        ..Default::default()
    };
    if params == InfraEnvUpdateParams::default() {
        return Err(Failure::usage("nothing is to be changed")
            .hint("muster infra-env update --help shows what can be")
            .into());
    }
    let _: InfraEnv = client
        .patch(&format!("/infra-envs/{}", found.id), &params)
        .await?;
    print(&format!("infra-env {} updated\n", found.name));
    Ok(())
}
