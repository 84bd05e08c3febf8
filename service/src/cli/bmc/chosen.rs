//! The BMCs that a command line names, and commands that send a request for each.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::bmc::Bmc;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::infra_env::InfraEnv;

use crate::cli::arguments::names::{self, Named};
use crate::cli::failure::{Failure, kind_of};
use crate::cli::fleet;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The BMCs of the command.
#[derive(Debug, Args)]
pub struct ActionArgs {
    /// Names, ids, or beginnings of ids
    #[arg(required_unless_present = "all", value_name = "BMC")]
    bmcs: Vec<String>,

    /// All of the InfraEnv
    #[arg(long, requires = "infra_env", conflicts_with = "bmcs")]
    all: bool,

    /// Their InfraEnv, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// A BMC and its InfraEnv.
pub struct Found {
    pub pool: InfraEnv,
    pub bmc: Bmc,
}

impl Found {
    pub fn path(&self) -> String {
        format!("{}/{}", of_infra_env(self.pool.id), self.bmc.id)
    }
}

/// The path of an InfraEnv's BMCs.
pub fn of_infra_env(id: InfraEnvId) -> String {
    format!("{MUSTER_PATH}/infra-envs/{id}/bmcs")
}

/// The BMC of a host: the one that discovered it last.
pub async fn of_host(client: &Client, pool: InfraEnvId, host: HostId) -> Result<Option<Bmc>> {
    let bmcs: Vec<Bmc> = client.get(&of_infra_env(pool)).await?;
    let of_host = bmcs.into_iter().filter(|bmc| bmc.host_id == Some(host));
    Ok(of_host.max_by(|one, other| one.updated_at.cmp(&other.updated_at)))
}

/// All of one InfraEnv, or of the service.
pub async fn all(client: &Client, only: Option<&str>) -> Result<Vec<Found>> {
    let pools: Vec<InfraEnv> = match only {
        Some(wanted) => vec![names::infra_env(client, wanted).await?],
        None => fleet::infra_envs(client).await?,
    };
    let mut found = Vec::new();
    for pool in pools {
        let bmcs: Vec<Bmc> = client.get(&of_infra_env(pool.id)).await?;
        found.extend(bmcs.into_iter().map(|bmc| Found {
            pool: pool.clone(),
            bmc,
        }));
    }
    Ok(found)
}

/// The index of the BMC that `wanted` means.
pub fn place_of(all: &[Found], wanted: &str) -> Result<usize, Failure> {
    let named: Vec<Named> = all
        .iter()
        .map(|found| Named {
            name: found.bmc.name.clone(),
            id: found.bmc.id.0,
            detail: found.pool.name.clone(),
        })
        .collect();
    names::pick("BMC", wanted, &named)
}

/// Starts the discovery of their machines.
pub async fn discover(args: ActionArgs) -> Result<()> {
    act(args, "discover", "is to be discovered").await
}

/// Ends the discovery of their machines.
pub async fn stop(args: ActionArgs) -> Result<()> {
    act(args, "stop", "is stopped").await
}

async fn act(args: ActionArgs, action: &str, so: &str) -> Result<()> {
    each(args, async |client, found| {
        client.act(&format!("{}/actions/{action}", found.path())).await?;
        Ok(so.to_owned())
    })
    .await
}

/// Deletes the BMCs.
pub async fn delete(args: ActionArgs) -> Result<()> {
    each(args, async |client, found| {
        client.delete(&found.path()).await?;
        Ok("deleted".to_owned())
    })
    .await
}

/// Calls `act` for each BMC, after all were found; a refusal does not hold up the others.
async fn each(args: ActionArgs, act: impl AsyncFn(&Client, &Found) -> Result<String>) -> Result<()> {
    let client = Client::new(&args.service)?;
    let all = all(&client, args.infra_env.as_deref()).await?;
    let mut places = Vec::new();
    for wanted in &args.bmcs {
        places.push(place_of(&all, wanted)?);
    }
    if args.all {
        places.extend(0..all.len());
    }
    let mut refused: Option<Failure> = None;
    for place in places {
        let found = &all[place];
        match act(&client, found).await {
            Ok(so) => print(&format!("{} {so}\n", found.bmc.name)),
            Err(error) => {
                let line = format!("{}: {error:#}", found.bmc.name);
                refused = Some(match refused {
                    None => Failure::new(kind_of(&error), line),
                    Some(before) => before.hint(line),
                });
            }
        }
    }
    refused.map_or(Ok(()), |failure| Err(failure.into()))
}
