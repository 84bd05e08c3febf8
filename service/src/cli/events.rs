//! `muster events`.

mod follow;

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::event::{FollowedEvent, Severity};
use muster_api::ids::{ClusterId, EventId, HostId, InfraEnvId};

use super::arguments::names;
use super::fleet;
use super::output::{Column, Fit, OutputArgs, Table, show};
use super::service::{Client, ServiceArgs};

/// How many events are printed, and in which form.
#[derive(Debug, Args)]
pub struct TellArgs {
    /// Number of events, the newest
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,

    /// Go on with new events, until interrupted
    #[arg(long, short)]
    pub follow: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Filters of events.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Only those of this host: name, id, or beginning of the id
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Only those of this InfraEnv
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// Only those of this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,

    /// Only those that are so grave: info, warning, error, critical
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = severity)]
    severity: Vec<Severity>,

    #[command(flatten)]
    tell: TellArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

fn severity(text: &str) -> Result<Severity, String> {
    text.parse()
        .map_err(|_| "write info, warning, error or critical".into())
}

/// Selects events.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub host: Option<HostId>,
    pub infra_env: Option<InfraEnvId>,
    pub cluster: Option<ClusterId>,
    pub severities: Vec<Severity>,
}

impl Query {
    /// The path of events before one by time, the newest first.
    fn before(&self, before: EventId, limit: u32) -> String {
        self.with_filters(format!("{MUSTER_PATH}/events?limit={limit}&before={before}"))
    }

    /// The path of events in the order of their ids: those after one, or the newest.
    fn by_id(&self, after: Option<EventId>, limit: u32) -> String {
        let after = after.map(|id| format!("&after={id}")).unwrap_or_default();
        self.with_filters(format!("{MUSTER_PATH}/events?limit={limit}{after}"))
    }

    fn with_filters(&self, mut path: String) -> String {
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={value}"));
            }
        };
        add("host_ids", self.host.map(|id| id.to_string()));
        add("infra_env_id", self.infra_env.map(|id| id.to_string()));
        add("cluster_id", self.cluster.map(|id| id.to_string()));
        let names: Vec<&str> = self.severities.iter().map(|severity| severity.name()).collect();
        add("severities", (!names.is_empty()).then(|| names.join(",")));
        path
    }
}

const COLUMNS: &[Column] = &[
    Column("TIME", Fit::Always),
    Column("SEVERITY", Fit::Always),
    Column("EVENT", Fit::Wide),
    Column("HOST", Fit::Wide),
    Column("MESSAGE", Fit::Text),
];

/// Shows the events.
pub async fn run(args: EventsArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let infra_env = match (&args.infra_env, &args.host, &args.cluster) {
        // A token for one InfraEnv lists its events alone.
        (None, None, None) if client.has_token() => fleet::scope(&client).await.unwrap_or_default(),
        (named, _, _) => names::infra_env_id(&client, named.as_deref()).await?,
    };
    let host = match &args.host {
        Some(wanted) => Some(names::host(&client, wanted, infra_env).await?.host.id),
        None => None,
    };
    let query = Query {
        host,
        infra_env,
        cluster: names::cluster_id(&client, args.cluster.as_deref()).await?,
        severities: args.severity,
    };
    print_events(&client, &query, &args.tell).await
}

/// Prints events in the order of their ids, in which the service recorded them; with `--follow`, continues until interrupted.
pub async fn print_events(client: &Client, query: &Query, tell: &TellArgs) -> Result<()> {
    let format = &tell.output.output;
    if tell.follow {
        return follow::print_all(client, query, tell.limit, format).await;
    }
    let last = follow::last(client, query, tell.limit).await?;
    let ids: Vec<String> = last.iter().map(|one| one.id.to_string()).collect();
    show(format, || table(&last), &serde_json::to_value(&last)?, &ids)
}

/// A time as tables show it, in whole seconds.
pub fn seconds(time: &str) -> String {
    let time = time.replace('T', " ");
    let seconds = time.split('.').next().unwrap_or_default();
    seconds.trim_end_matches('Z').to_owned()
}

fn table<'a>(events: impl IntoIterator<Item = &'a FollowedEvent>) -> Table {
    let row = |FollowedEvent { event, .. }: &FollowedEvent| {
        vec![
            seconds(&event.event_time),
            event.severity.name().to_owned(),
            event.name.clone().unwrap_or_default(),
            event.host_id.map(|id| id.to_string()).unwrap_or_default(),
            event.message.clone(),
        ]
    };
    Table::new(COLUMNS, events.into_iter().map(row).collect())
}
