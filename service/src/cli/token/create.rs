//! `muster token create`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use muster_operations::auth::Claims;
use muster_store::Store;

use crate::cli::data::DataArgs;
use crate::cli::names::{Named, pick};
use crate::cli::output::print;
use crate::serve::open_keys;

/// Whose token, and where the key is.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The token of the user API
    #[arg(long, required_unless_present = "infra_env")]
    operator: bool,

    /// The token of this InfraEnv's agents and images instead: its name, its id, or the beginning of its id
    #[arg(long, value_name = "INFRA_ENV", conflicts_with = "operator")]
    infra_env: Option<String>,

    #[command(flatten)]
    data: DataArgs,

    /// The service's --auth-key
    #[arg(long, env = "MUSTER_AUTH_KEY", value_name = "FILE")]
    auth_key: Option<PathBuf>,
}

/// Prints the token, and nothing else.
pub async fn run(args: CreateArgs) -> Result<()> {
    let url = args.data.existing_url()?;
    let store = Store::open(&url).await?;
    let keys = open_keys(&store, args.auth_key.as_deref()).await?;
    let claims = match args.infra_env {
        Some(wanted) => opens(&store, &wanted).await?,
        None => Claims::Operator { operator: true },
    };
    print(&format!("{}\n", keys.sign(&claims)));
    store.close().await;
    Ok(())
}

async fn opens(store: &Store, wanted: &str) -> Result<Claims> {
    let all = store.list_infra_envs(None).await?;
    let named: Vec<Named> = all
        .iter()
        .map(|one| Named {
            name: one.name.clone(),
            id: one.id.0,
            detail: String::new(),
        })
        .collect();
    let found = pick("InfraEnv", wanted, &named)?;
    Ok(Claims::InfraEnv {
        infra_env_id: all[found].id,
        generation: all[found].settings.token_generation,
    })
}
