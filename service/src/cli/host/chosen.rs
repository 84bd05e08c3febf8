//! Defines the options that name hosts to change, and changes each.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;

use crate::cli::arguments::names;
use crate::cli::failure::{self, Failure, Kind};
use crate::cli::fleet::{self, Member};
use crate::cli::output::print;
use crate::cli::service::Client;

/// The hosts.
#[derive(Debug, Args)]
pub struct ChosenArgs {
    /// Names, ids, or beginnings of ids
    #[arg(required = true, value_name = "HOST")]
    hosts: Vec<String>,

    /// InfraEnv of the hosts, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,
}

impl ChosenArgs {
    /// All of them, or an error about the first ambiguous or unknown one.
    pub async fn find(&self, client: &Client) -> Result<Vec<Member>> {
        find(client, &self.hosts, self.infra_env.as_deref()).await
    }
}

/// The hosts with these names, each once, or an error about the first ambiguous or unknown one.
pub async fn find(client: &Client, hosts: &[String], infra_env: Option<&str>) -> Result<Vec<Member>> {
    let only = names::infra_env_id(client, infra_env).await?;
    let all = fleet::members(client, only).await?;
    let mut found: Vec<Member> = Vec::new();
    for wanted in hosts {
        let place = names::host_in(&all, wanted)?;
        if found.iter().all(|known| known.host.id != all[place].host.id) {
            found.push(all[place].clone());
        }
    }
    Ok(found)
}

/// Requests an action outside the protocol for each of the hosts, and prints `done` for each that takes it. As [`each`] in all else.
pub async fn request_of_each(client: &Client, chosen: &ChosenArgs, action: &str, done: &str) -> Result<()> {
    request_of(client, &chosen.find(client).await?, action, done).await
}

/// The same for hosts that were found.
pub async fn request_of(client: &Client, members: &[Member], action: &str, done: &str) -> Result<()> {
    each(members, async |member| {
        client
            .act(&format!("{MUSTER_PATH}{}/actions/{action}", member.path()))
            .await?;
        Ok(done.to_owned())
    })
    .await
}

/// Calls `act` for each host and prints its result. A refusal is printed, and the remaining hosts are processed nevertheless.
///
/// # Errors
/// Fails if a host was refused, with the exit code of the first refusal.
pub async fn each(members: &[Member], act: impl AsyncFn(&Member) -> Result<String>) -> Result<()> {
    let mut refused: Vec<Kind> = Vec::new();
    for member in members {
        match act(member).await {
            Ok(done) => print(&format!("host {} {done}\n", member.name())),
            Err(error) if members.len() == 1 => return Err(error),
            Err(error) => {
                refused.push(failure::kind_of(&error));
                eprint!("{}", failure::text(&error.context(member.name())));
            }
        }
    }
    match refused.first() {
        None => Ok(()),
        Some(kind) => {
            let words = format!("{} of {} hosts were not changed", refused.len(), members.len());
            Err(Failure::new(*kind, words).into())
        }
    }
}
