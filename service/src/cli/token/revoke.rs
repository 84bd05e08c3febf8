//! `muster token revoke`.

use anyhow::Result;
use clap::Args;

use crate::cli::client::Client;
use crate::cli::names;
use crate::cli::output::print;
use crate::cli::service::ServiceArgs;

/// Whose URLs. Agents that run keep their token; `muster token rotate` replaces it.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// Name, id, or beginning of the id of the InfraEnv
    #[arg(long, value_name = "INFRA_ENV", required_unless_present = "cluster")]
    infra_env: Option<String>,

    /// Name, id, or beginning of the id of a cluster instead: its events and its hosts' logs
    #[arg(long, value_name = "CLUSTER", conflicts_with = "infra_env")]
    cluster: Option<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Asks the service for another signing key of the InfraEnv or cluster.
pub async fn run(args: RevokeArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if let Some(wanted) = &args.cluster {
        let found = names::cluster(&client, wanted).await?;
        client
            .act(&format!("/clusters/{}/regenerate-signing-key", found.id))
            .await?;
        print(&format!(
            "the URLs of cluster {} that were handed out are revoked; custom resources show new ones\n",
            found.name
        ));
        return Ok(());
    }
    let found = names::infra_env(&client, args.infra_env.as_deref().unwrap_or_default()).await?;
    client
        .act(&format!("/infra-envs/{}/regenerate-signing-key", found.id))
        .await?;
    print(&format!(
        "the URLs of infra-env {} that were handed out are revoked; new ones: muster infra-env iso {}\n",
        found.name, found.id
    ));
    Ok(())
}
