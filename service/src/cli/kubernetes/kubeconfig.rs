//! `muster kubeconfig`: the kubeconfigs of the built-in Kubernetes API, for users on other machines.

use anyhow::Result;
use clap::Args;
use muster_store::{AuditedObject, Store};
use url::Url;

use crate::builtin_access::BuiltinAccess;
use crate::cli::data::{DataArgs, noted};
use crate::cli::output::print;
use crate::secrets_key::SecretsKeyArgs;

/// The user of the kubeconfig, and where the data is.
#[derive(Debug, Args)]
pub struct KubeconfigArgs {
    /// For those who only look: no Secrets, and no secrets in other objects
    #[arg(long)]
    viewer: bool,

    /// URL of the API, as its users reach it: the service's --kube-public-url
    #[arg(long, value_name = "URL", default_value = "https://127.0.0.1:6443")]
    server: Url,

    /// Make new keys first. Every kubeconfig that was handed out ends when the service is started again
    #[arg(long)]
    rotate: bool,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    secrets: SecretsKeyArgs,
}

/// Prints the kubeconfig, and nothing else to standard output.
///
/// # Errors
/// Fails if the database does.
pub async fn run(args: KubeconfigArgs) -> Result<()> {
    let url = args.data.existing_url()?;
    let vault = args.secrets.load()?;
    let vault = if args.rotate { vault } else { vault.reading_only() };
    let store = Store::open_beside_service(&url, Some(vault)).await?;
    if args.rotate {
        BuiltinAccess::rotate(&store).await?;
        noted::note(&store, "kubeconfig --rotate", AuditedObject::default()).await;
        eprintln!(
            "new keys are stored; restart the service (all replicas): then kubeconfigs of before are refused, and those in its data dir are new"
        );
    }
    let access = BuiltinAccess::open(&store, &args.data.dir.data_dir).await?;
    let server = args.server.as_str().trim_end_matches('/');
    print(&if args.viewer {
        access.viewers_kubeconfig(server)
    } else {
        access.kubeconfig(server)?
    });
    store.close().await;
    Ok(())
}
