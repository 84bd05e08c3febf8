//! `muster infra-env`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{InfraEnv, InfraEnvCreateParams, Proxy};

use super::client::{Client, ServiceArgs};
use super::output::print;
use super::table;

/// What to do with InfraEnvs.
#[derive(Debug, Subcommand)]
pub enum InfraEnvCommand {
    /// Create one and print where its ISO and its iPXE script are
    Create(Box<CreateArgs>),
    /// List all
    List(ListArgs),
    /// Delete one that has no hosts
    Delete(DeleteArgs),
}

/// Settings of a new InfraEnv.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Its name
    #[arg(long)]
    name: String,
    /// File with the pull secret (JSON with "auths"), - for standard input
    #[arg(long, value_name = "FILE")]
    pull_secret: PathBuf,
    /// File with SSH public keys
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<PathBuf>,
    /// Time sources, comma-separated
    #[arg(long, value_name = "LIST")]
    ntp_sources: Option<String>,
    /// Proxy of hosts for http:// and https://
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// OpenShift version, e.g. 4.20
    #[arg(long, value_name = "VERSION")]
    openshift_version: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Of which service.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

/// Which one.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Its id
    id: InfraEnvId,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Does it.
pub async fn run(command: InfraEnvCommand) -> Result<()> {
    match command {
        InfraEnvCommand::Create(args) => create(*args).await,
        InfraEnvCommand::List(args) => list(args).await,
        InfraEnvCommand::Delete(args) => {
            Client::new(&args.service)?
                .delete(&format!("/infra-envs/{}", args.id))
                .await?;
            print(&format!("deleted {}\n", args.id));
            Ok(())
        }
    }
}

async fn create(args: CreateArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let params = InfraEnvCreateParams {
        name: args.name,
        pull_secret: read(&args.pull_secret)
            .with_context(|| format!("--pull-secret {}", args.pull_secret.display()))?,
        ssh_authorized_key: args
            .ssh_key
            .as_deref()
            .map(read)
            .transpose()
            .context("--ssh-key")?,
        additional_ntp_sources: args.ntp_sources,
        proxy: args.proxy.map(|url| Proxy {
            http_proxy: Some(url.clone()),
            https_proxy: Some(url),
            no_proxy: None,
        }),
        openshift_version: args.openshift_version,
        ..Default::default()
    };
    let made: InfraEnv = client.post("/infra-envs", &params).await?;
    // Short enough for the boot file field of a DHCP answer, which holds 127 characters.
    let script = made.download_url.replace("discovery.iso", "boot.ipxe");
    print(&format!(
        "infra-env  {}\niso        {}\nipxe       {script}\n",
        made.id, made.download_url
    ));
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = std::fs::read_to_string(path)?;
    }
    Ok(text.trim().to_owned())
}

async fn list(args: ListArgs) -> Result<()> {
    let all: Vec<InfraEnv> = Client::new(&args.service)?.get("/infra-envs").await?;
    let rows: Vec<Vec<String>> = all
        .into_iter()
        .map(|one| {
            vec![
                one.name,
                one.id.to_string(),
                one.openshift_version,
                one.download_url,
            ]
        })
        .collect();
    print(&table::render(&["NAME", "ID", "VERSION", "ISO"], &rows));
    Ok(())
}
