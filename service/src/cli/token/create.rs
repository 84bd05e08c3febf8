//! `muster token create`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use muster_operations::auth::Claims;
use muster_store::Store;

use crate::cli::failure::Failure;
use crate::cli::names::{Named, pick};
use crate::cli::output::print;
use crate::serve::open_keys;
use crate::settings::default_database_url;

/// Whose token, and where the key is.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The token of the user API
    #[arg(long, required_unless_present = "infra_env")]
    operator: bool,

    /// The token of this InfraEnv's agents and images instead: its name, its id, or the beginning of its id
    #[arg(long, value_name = "INFRA_ENV", conflicts_with = "operator")]
    infra_env: Option<String>,

    /// The service's data dir
    #[arg(
        long,
        env = "MUSTER_DATA_DIR",
        default_value = "muster-data",
        value_name = "DIR"
    )]
    data_dir: PathBuf,

    /// The service's database, if it is not in the data dir
    #[arg(long, env = "MUSTER_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<String>,

    /// The service's --auth-key
    #[arg(long, env = "MUSTER_AUTH_KEY", value_name = "FILE")]
    auth_key: Option<PathBuf>,
}

/// Prints the token, and nothing else.
pub async fn run(args: CreateArgs) -> Result<()> {
    if args.database_url.is_none() && !args.data_dir.join("muster.db").exists() {
        return Err(Failure::not_found(format!(
            "{} holds no database: give the service's --data-dir, or start the service once",
            args.data_dir.display()
        ))
        .into());
    }
    let url = args
        .database_url
        .unwrap_or_else(|| default_database_url(&args.data_dir));
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
    })
}
