//! `muster token rotate`.

use anyhow::Result;
use clap::Args;

use crate::cli::arguments::names;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The InfraEnv to rotate the tokens of. Machines that run an image downloaded before are refused until they boot one downloaded since.
/// Hosts with a key that are installed, or being installed, are given the new token.
#[derive(Debug, Args)]
pub struct RotateArgs {
    /// Name, id, or beginning of the id of the InfraEnv
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: String,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Requests the service to refuse the tokens of all images made so far.
pub async fn run(args: RotateArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    client
        .act(&format!("/infra-envs/{}/regenerate-agent-token", found.id))
        .await?;
    print(&format!(
        "the images of infra-env {} that were downloaded so far are refused; new ones: muster infra-env iso {}\n",
        found.name, found.id
    ));
    Ok(())
}
