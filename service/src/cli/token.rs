//! `muster token`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use muster_api::ids::InfraEnvId;
use muster_operations::auth::Claims;
use muster_store::Store;

use super::output::print;
use crate::serve::open_keys;
use crate::settings::default_database_url;

/// Whose token, and where the key is.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// The token of the user API
    #[arg(long, required_unless_present = "infra_env")]
    operator: bool,

    /// The token of this InfraEnv's agents and images instead
    #[arg(long, value_name = "ID", conflicts_with = "operator")]
    infra_env: Option<InfraEnvId>,

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
pub async fn run(args: TokenArgs) -> Result<()> {
    if args.database_url.is_none() && !args.data_dir.join("muster.db").exists() {
        bail!(
            "{} holds no database: give the service's --data-dir, or start the service once",
            args.data_dir.display()
        );
    }
    let url = args
        .database_url
        .unwrap_or_else(|| default_database_url(&args.data_dir));
    let store = Store::open(&url).await?;
    let keys = open_keys(&store, args.auth_key.as_deref()).await?;
    let claims = match args.infra_env {
        Some(infra_env_id) => Claims::InfraEnv { infra_env_id },
        None => Claims::Operator { operator: true },
    };
    print(&format!("{}\n", keys.sign(&claims)));
    store.close().await;
    Ok(())
}
