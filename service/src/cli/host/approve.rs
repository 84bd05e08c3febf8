//! `muster host approve`. Approval is a field of the Agent custom resource, so this uses the Kubernetes API; hosts of an InfraEnv that was
//! made by REST need no approval.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use kube::api::{ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client as KubeClient, Config, ResourceExt};
use muster_resources::Agent;
use serde_json::json;

use super::chosen::{ChosenArgs, each};
use crate::cli::failure::Failure;
use crate::cli::fleet::Member;
use crate::cli::service::{Client, ServiceArgs};
use crate::settings::DataDirArgs;

/// The hosts, and the API with their Agents.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    #[command(flatten)]
    chosen: ChosenArgs,

    /// Take the approval back
    #[arg(long)]
    revoke: bool,

    /// Kubeconfig of the API with the Agents [default: the built-in API's, in the data dir]
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    data: DataDirArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Approves the hosts.
pub async fn run(args: ApproveArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let members = args.chosen.find(&client).await?;
    let file = args
        .kubeconfig
        .unwrap_or_else(|| args.data.data_dir.join("kubeconfig"));
    let kube = connect(&file).await?;
    let approved = !args.revoke;
    each(&members, async |member| {
        let agent = agent_of(&kube, member).await?;
        let agents: Api<Agent> = Api::namespaced(kube.clone(), &agent.namespace().unwrap_or_default());
        let patch = Patch::Merge(json!({"spec": {"approved": approved}}));
        let patched = agents
            .patch(&agent.name_any(), &PatchParams::default(), &patch)
            .await;
        patched.context("its Agent cannot be changed")?;
        Ok(if approved {
            "approved"
        } else {
            "not approved any more"
        }
        .into())
    })
    .await
}

async fn connect(file: &Path) -> Result<KubeClient> {
    let read = Kubeconfig::read_from(file).map_err(|error| {
        Failure::not_found(format!("the kubeconfig {} cannot be read: {error}", file.display())).hint(
            "approval is in the Agent custom resource: give --kubeconfig (KUBECONFIG), or --data-dir of a service with the built-in API",
        )
    })?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    let config = config.with_context(|| format!("the kubeconfig {} cannot be used", file.display()))?;
    Ok(KubeClient::try_from(config)?)
}

async fn agent_of(kube: &KubeClient, member: &Member) -> Result<Agent> {
    let only = ListParams::default().fields(&format!("metadata.name={}", member.host.id));
    let found = Api::<Agent>::all(kube.clone()).list(&only).await;
    let found = found.map_err(|error| {
        Failure::unreachable(format!("the Kubernetes API does not list its Agents: {error}"))
            .hint("is the service running, and is this its kubeconfig? (--kubeconfig, --data-dir)")
    })?;
    found.items.into_iter().next().ok_or_else(|| {
        Failure::refused(format!(
            "host {} has no Agent: hosts of an InfraEnv that was made by REST are not approved",
            member.name()
        ))
        .hint(format!(
            "bind it: muster host bind {} --cluster NAME",
            member.name()
        ))
        .into()
    })
}
