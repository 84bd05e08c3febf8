//! `muster host power`.

use anyhow::Result;
use clap::Args;
use muster_api::bmc::BmcPowerAction;
use muster_api::jobs::{JobAction, JobPower};

use super::many::QueryArgs;
use crate::cli::arguments::names;
use crate::cli::bmc::chosen::{of_host, of_infra_env};
use crate::cli::bmc::power::{Asked, carry_out};
use crate::cli::failure::Failure;
use crate::cli::service::{Client, ServiceArgs};

/// The host, and the action.
#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct PowerArgs {
    /// Its name, its id, or the beginning of its id; left out with --query
    #[arg(required_unless_present = "query", conflicts_with = "query")]
    host: Option<String>,

    #[command(flatten)]
    asked: Asked,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    many: QueryArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Carries out the action.
pub async fn run(args: PowerArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if args.many.is_given() {
        let action = of_many(&args.asked)?;
        let infra_env = args.infra_env.as_deref();
        return args.many.run(&client, infra_env, "", action).await;
    }
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, args.host.as_deref().unwrap_or_default(), only).await?;
    let name = member.name();
    let Some(bmc) = of_host(&client, member.pool.id, member.host.id).await? else {
        return Err(Failure::refused(format!("no BMC of host {name} is known"))
            .hint("add it, and it finds its host by discovery: muster bmc add --help")
            .into());
    };
    let path = format!("{}/{}", of_infra_env(member.pool.id), bmc.id);
    carry_out(&client, &path, &name, &args.asked).await
}

/// The action of a job.
fn of_many(asked: &Asked) -> Result<JobAction, Failure> {
    if asked.force {
        return Err(Failure::usage("--force is for one host at a time"));
    }
    let power = match asked.action {
        BmcPowerAction::On => JobPower::On,
        BmcPowerAction::Off => JobPower::Off,
        BmcPowerAction::Reset => JobPower::Reset,
        BmcPowerAction::Status => {
            return Err(Failure::usage("status is for one host at a time")
                .hint("the last reports of all: muster hosts --query power:*"));
        }
    };
    Ok(JobAction::Power { power })
}
