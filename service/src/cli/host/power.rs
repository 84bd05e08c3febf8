//! `muster host power`.

use anyhow::Result;
use clap::Args;

use crate::cli::arguments::names;
use crate::cli::bmc::chosen::{of_host, of_infra_env};
use crate::cli::bmc::power::{Asked, carry_out};
use crate::cli::failure::Failure;
use crate::cli::service::{Client, ServiceArgs};

/// The host, and the action.
#[derive(Debug, Args)]
pub struct PowerArgs {
    /// Its name, its id, or the beginning of its id
    host: String,

    #[command(flatten)]
    asked: Asked,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Carries out the action.
pub async fn run(args: PowerArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, &args.host, only).await?;
    let name = member.name();
    let Some(bmc) = of_host(&client, member.pool.id, member.host.id).await? else {
        return Err(Failure::refused(format!("no BMC of host {name} is known"))
            .hint("add it, and it finds its host by discovery: muster bmc add --help")
            .into());
    };
    let path = format!("{}/{}", of_infra_env(member.pool.id), bmc.id);
    carry_out(&client, &path, &name, &args.asked).await
}
