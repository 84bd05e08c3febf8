//! `muster token revoke`.

use anyhow::Result;
use clap::Args;

use crate::cli::client::Client;
use crate::cli::names;
use crate::cli::output::print;
use crate::cli::service::ServiceArgs;

/// Whose URLs. Agents that run keep their token: it ends with the InfraEnv. All tokens end with the service's key (--auth-key).
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// Name, id, or beginning of the id of the InfraEnv
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: String,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Asks the service for another signing key of the InfraEnv.
pub async fn run(args: RevokeArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    client
        .act(&format!("/infra-envs/{}/regenerate-signing-key", found.id))
        .await?;
    print(&format!(
        "the URLs of infra-env {} that were handed out are revoked; new ones: muster infra-env iso {}\n",
        found.name, found.id
    ));
    Ok(())
}
