//! `muster host history`.

use anyhow::Result;
use clap::Args;

use crate::cli::client::Client;
use crate::cli::events::{Query, TellArgs, print_events};
use crate::cli::names;
use crate::cli::service::ServiceArgs;

/// Whose.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Its name, its id, or the beginning of its id
    host: String,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    tell: TellArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Shows it.
pub async fn run(args: HistoryArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, &args.host, only).await?;
    let query = Query {
        host: Some(member.host.id),
        infra_env: Some(member.pool.id),
        ..Query::default()
    };
    print_events(&client, &query, &args.tell).await
}
