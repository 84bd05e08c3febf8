//! `muster host history`.

use anyhow::Result;
use clap::Args;
use muster_api::host::HostStateChange;

use crate::cli::arguments::names;
use crate::cli::events::{Query, TellArgs, print_events, seconds};
use crate::cli::failure::Failure;
use crate::cli::fleet::Member;
use crate::cli::output::{Column, Fit, Table, show};
use crate::cli::service::{Client, ServiceArgs};

/// The host, and which part of its history.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Its name, its id, or the beginning of its id
    host: String,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// Its states in place of its events: when it went from which to which, who caused that, and why
    #[arg(long)]
    states: bool,

    #[command(flatten)]
    tell: TellArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

const COLUMNS: &[Column] = &[
    Column("TIME", Fit::Always),
    Column("FROM", Fit::Room(1)),
    Column("TO", Fit::Always),
    Column("WHO", Fit::Room(2)),
    Column("EVENT", Fit::Wide),
    Column("REASON", Fit::Text),
];

/// Shows the history.
pub async fn run(args: HistoryArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, &args.host, only).await?;
    if args.states {
        return print_states(&client, &member, &args.tell).await;
    }
    let query = Query {
        host: Some(member.host.id),
        infra_env: Some(member.pool.id),
        ..Query::default()
    };
    print_events(&client, &query, &args.tell).await
}

async fn print_states(client: &Client, member: &Member, tell: &TellArgs) -> Result<()> {
    if tell.follow {
        return Err(Failure::usage("--follow goes on with events: leave --states out").into());
    }
    let path = format!(
        "/infra-envs/{}/hosts/{}/history?limit={}",
        member.pool.id, member.host.id, tell.limit
    );
    let changes: Vec<HostStateChange> = client.get(&path).await?;
    let names: Vec<String> = changes.iter().map(|change| change.to.to_string()).collect();
    show(
        &tell.output.output,
        || table(&changes),
        &serde_json::to_value(&changes)?,
        &names,
    )
}

fn table(changes: &[HostStateChange]) -> Table {
    let row = |change: &HostStateChange| {
        vec![
            seconds(&change.at),
            change.from.map(|from| from.to_string()).unwrap_or_default(),
            change.to.to_string(),
            change.who.clone(),
            change.event.clone(),
            change.reason.clone(),
        ]
    };
    Table::new(COLUMNS, changes.iter().map(row).collect())
}
