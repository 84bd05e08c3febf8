//! Options that choose many hosts by a query: a job of the service does the action for each of them.

mod discover;
mod disk;
mod hostname;
mod labels;
mod role;
mod table;

pub use discover::{DiscoverArgs, run as discover};
pub use disk::{DiskArgs, run as disk};
pub use hostname::{HostnameArgs, run as hostname};
pub use labels::{LabelsArgs, run as labels};
pub use role::{RoleArgs, run as role};

use anyhow::Result;
use clap::Args;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::jobs::{HostSelection, JobAction};
use muster_core::query::{Key, quoted};

use super::chosen::find;
use crate::cli::arguments::names;
use crate::cli::fleet::{self, Member};
use crate::cli::job::plan::{self, Way};
use crate::cli::service::Client;

/// Hosts by a query.
#[derive(Debug, Args)]
#[command(next_help_heading = "Many hosts")]
pub struct QueryArgs {
    /// All that fit all terms of this query, e.g. 'state:known pool:lab'; '' for all hosts. The plan is shown first
    #[arg(long, short, value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,

    /// But for these: names, ids, or beginnings of ids, separated by commas
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', requires = "query")]
    except: Vec<String>,

    /// Show the plan, and change nothing
    #[arg(long, requires = "query")]
    dry_run: bool,

    /// Begin without a confirmation at the terminal
    #[arg(long, short, requires = "query")]
    yes: bool,
}

impl QueryArgs {
    /// True if there is a query.
    pub fn is_given(&self) -> bool {
        self.query.is_some()
    }

    /// Runs the action for the hosts that fit the query, of one InfraEnv if it is named.
    pub async fn run(
        &self,
        client: &Client,
        infra_env: Option<&str>,
        sort: &str,
        action: JobAction,
    ) -> Result<()> {
        let only = names::infra_env_id(client, infra_env).await?;
        let selection = HostSelection {
            query: Some(within(self.query.as_deref().unwrap_or_default(), only)),
            sort: sort.to_owned(),
            except: self.excepted(client, only).await?,
            ids: Vec::new(),
        };
        let way = Way {
            dry_run: self.dry_run,
            yes: self.yes,
        };
        plan::run(client, action, selection, way).await
    }

    async fn excepted(&self, client: &Client, only: Option<InfraEnvId>) -> Result<Vec<HostId>> {
        if self.except.is_empty() {
            return Ok(Vec::new());
        }
        let all = fleet::members(client, only).await?;
        let places = self.except.iter().map(|wanted| names::host_in(&all, wanted));
        let mut ids = Vec::new();
        for place in places {
            ids.push(all[place?].host.id);
        }
        Ok(ids)
    }
}

/// The query for hosts of one InfraEnv.
fn within(query: &str, only: Option<InfraEnvId>) -> String {
    let pool = only.map(|id| format!("{}:{}", Key::Pool, quoted(&id.to_string())));
    let terms = [Some(query.to_owned()), pool];
    let terms: Vec<String> = terms
        .into_iter()
        .flatten()
        .filter(|term| !term.is_empty())
        .collect();
    terms.join(" ")
}

/// Hosts by their names, or by a query.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// Names, ids, or beginnings of ids
    #[arg(
        required_unless_present = "query",
        conflicts_with = "query",
        value_name = "HOST"
    )]
    hosts: Vec<String>,

    /// InfraEnv of the hosts, where two have the same name; with --query only its hosts
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    many: QueryArgs,
}

impl HostsArgs {
    /// True if they are chosen by a query.
    pub fn is_query(&self) -> bool {
        self.many.is_given()
    }

    /// Those that are named, or an error about the first ambiguous or unknown one.
    pub async fn find(&self, client: &Client) -> Result<Vec<Member>> {
        find(client, &self.hosts, self.infra_env.as_deref()).await
    }

    /// Runs the action for those that fit the query.
    pub async fn run(&self, client: &Client, action: JobAction) -> Result<()> {
        let infra_env = self.infra_env.as_deref();
        self.many.run(client, infra_env, "", action).await
    }
}

/// Hosts by a query alone.
#[derive(Debug, Args)]
pub struct OnlyQueryArgs {
    /// Only hosts of this InfraEnv: name, id, or beginning of the id
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    #[command(flatten)]
    many: QueryArgs,
}

impl OnlyQueryArgs {
    /// Runs the action for those that fit the query, in the order `sort`.
    pub async fn run(&self, client: &Client, sort: &str, action: JobAction) -> Result<()> {
        let infra_env = self.infra_env.as_deref();
        self.many.run(client, infra_env, sort, action).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_one_more_term() {
        let id: InfraEnvId = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        assert_eq!(within("state:known", None), "state:known");
        assert_eq!(within("", None), "");
        let pool = within("", Some(id));
        assert_eq!(within("cpu:>8", Some(id)), format!("cpu:>8 {pool}"));
        assert!(muster_core::query::Query::parse(&pool).is_ok(), "{pool}");
    }
}
