//! `muster host logs`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::names;
use crate::cli::output::print;
use crate::cli::save::save;
use crate::cli::service::ServiceArgs;

/// Whose, and where to.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Its name, its id, or the beginning of its id
    host: String,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// Write the archive into this file [default: NAME-logs.tar.gz]
    #[arg(long, short = 'f', value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Downloads them.
pub async fn run(args: LogsArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, &args.host, only).await?;
    let name = member.name();
    let Some(cluster) = member.host.cluster_id else {
        return Err(Failure::refused(format!(
            "host {name} belongs to no cluster: logs are sent when an installation fails or is cancelled"
        ))
        .hint(format!("what happened to it: muster host history {name}"))
        .into());
    };
    let path = format!(
        "/clusters/{cluster}/logs?logs_type=host&host_id={}",
        member.host.id
    );
    let file = args
        .file
        .unwrap_or_else(|| PathBuf::from(format!("{name}-logs.tar.gz")));
    let written = save(client.stream(&path).await?, &file).await?;
    print(&format!("{}: {written} bytes\n", file.display()));
    Ok(())
}
