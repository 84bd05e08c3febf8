//! `muster host power`.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::{JobAction, JobPower};

use super::many::QueryArgs;
use crate::cli::arguments::names;
use crate::cli::bmc::chosen::{of_host, of_infra_env};
use crate::cli::bmc::power::{Asked, carry_out};
use crate::cli::failure::Failure;
use crate::cli::service::{Client, ServiceArgs};

/// The host, and the action.
#[derive(Debug, Args)]
#[command(mut_arg("action", |arg| arg.required(false).required_unless_present("query")))]
pub struct PowerArgs {
    /// Its name, its id, or the beginning of its id; with --query the action alone is given
    host: String,

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
        let action = of_many(&args.host, &args.asked)?;
        let infra_env = args.infra_env.as_deref();
        return args.many.run(&client, infra_env, "", action).await;
    }
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, &args.host, only).await?;
    let name = member.name();
    let Some(bmc) = of_host(&client, member.pool.id, member.host.id).await? else {
        return Err(Failure::refused(format!("no BMC of host {name} is known"))
            .hint("add it, and it finds its host by discovery: muster bmc add --help")
            .into());
    };
    let path = format!("{}/{}", of_infra_env(member.pool.id), bmc.id);
    carry_out(&client, &path, &name, &args.asked).await
}

/// The action of a job: with a query, the first word is no host.
fn of_many(word: &str, asked: &Asked) -> Result<JobAction, Failure> {
    if asked.action.is_some() {
        return Err(Failure::usage("give either a host or --query"));
    }
    if asked.force {
        return Err(Failure::usage("--force is for one host at a time"));
    }
    let power = word.parse::<JobPower>();
    let power = power.map_err(|_| {
        Failure::usage(format!("{word:?} is no action on many hosts: on, off or reset"))
            .hint("the last reports of power of all: muster hosts --query power:*")
    })?;
    Ok(JobAction::Power { power })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use muster_api::bmc::BmcPowerAction;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        power: PowerArgs,
    }

    fn typed(words: &[&str]) -> Option<PowerArgs> {
        let words = ["power"].iter().chain(words);
        Typed::try_parse_from(words).ok().map(|typed| typed.power)
    }

    #[test]
    fn a_query_takes_the_place_of_the_host() {
        for words in [
            &["worker-1", "off"][..],
            &["worker-1", "--force", "off"],
            &["worker-1", "--infra-env", "lab", "off"],
        ] {
            let one = typed(words).unwrap();
            assert_eq!(one.host, "worker-1");
            assert_eq!(one.asked.action, Some(BmcPowerAction::Off));
            assert!(of_many(&one.host, &one.asked).is_err());
        }
        assert!(typed(&["worker-1"]).is_none());
        for words in [
            &["off", "--query", "pool:lab"][..],
            &["--query", "pool:lab", "off"],
        ] {
            let many = typed(words).unwrap();
            let action = of_many(&many.host, &many.asked).unwrap();
            let expected = JobAction::Power { power: JobPower::Off };
            assert_eq!(action, expected);
        }
        let status = typed(&["status", "--query", ""]).unwrap();
        assert!(of_many(&status.host, &status.asked).is_err());
    }
}
