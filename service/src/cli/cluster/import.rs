//! `muster cluster import`.

use anyhow::Result;
use clap::{ArgGroup, Args};
use muster_api::cluster::{Cluster, ClusterUpdateParams, ImportClusterParams};
use uuid::Uuid;

use crate::cli::arguments::new_name::NewNameArgs;
use crate::cli::arguments::openshift_version;
use crate::cli::arguments::twins::{note_twin, there_already};
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The cluster.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("way").required(true).multiple(true).args(["domain", "api"])))]
pub struct ImportArgs {
    #[command(flatten)]
    name: NewNameArgs,

    /// Its base domain, such as example.com: nodes reach its API as api.NAME.DOMAIN
    #[arg(long)]
    domain: Option<String>,

    /// Name or address of its API [default: api.NAME.DOMAIN]
    #[arg(long, value_name = "NAME")]
    api: Option<String>,

    /// Its OpenShift version, such as 4.20
    #[arg(long, value_name = "VERSION", value_parser = openshift_version::parse)]
    openshift_version: Option<String>,

    /// The id that it has itself (oc get clusterversion version -o jsonpath={.spec.clusterID}) [default: a new one]
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,

    /// Import it although there is one of this name at this API
    #[arg(long)]
    another: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Imports it.
pub async fn run(args: ImportArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let domain = args.domain.as_deref().unwrap_or_default();
    let name = args.name.given();
    let params = ImportClusterParams {
        api_vip_dnsname: args.api.unwrap_or_else(|| format!("api.{name}.{domain}")),
        name,
        openshift_version: args.openshift_version,
        openshift_cluster_id: args.id.unwrap_or_else(Uuid::new_v4),
    };
    let before: Vec<Cluster> = client.get("/clusters").await?;
    let same = before
        .iter()
        .find(|other| other.name == params.name && other.api_vip_dns_name == params.api_vip_dnsname);
    if let Some(twin) = same.filter(|_| !args.another) {
        return Err(there_already("cluster", &params.name, twin.id, "cluster").into());
    }
    let mut made: Cluster = client.post("/clusters/import", &params).await?;
    if !domain.is_empty() && made.base_dns_domain != domain {
        let rest = ClusterUpdateParams {
            base_dns_domain: Some(domain.to_owned()),
            ..Default::default()
        };
        made = client.patch(&format!("/clusters/{}", made.id), &rest).await?;
    }
    print(&format!(
        "cluster {} imported ({})\nnext: muster host bind HOST --cluster {}\n",
        made.name, made.id, made.name
    ));
    // The name of an API of the form api.NAME.DOMAIN goes before --name.
    if let Some(twin) = before.iter().find(|other| other.name == made.name) {
        note_twin("cluster", twin.id);
    }
    Ok(())
}
