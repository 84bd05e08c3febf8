//! `muster events`.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use muster_api::event::{Event, Severity};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};

use super::arguments::names;
use super::failure::Failure;
use super::output::{Column, Format, OutputArgs, Place, Table, print, show, width};
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
    /// The newest first.
    fn path(&self, limit: u32) -> String {
        let mut path = format!("/events?order=descending&limit={limit}");
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
    Column("TIME", Place::Always),
    Column("SEVERITY", Place::Always),
    Column("EVENT", Place::Wide),
    Column("HOST", Place::Wide),
    Column("MESSAGE", Place::Text),
];

/// Interval between two requests of `--follow`.
const LOOK: Duration = Duration::from_secs(1);

/// Events that `--follow` requests at once: more than occur between two requests.
const AT_ONCE: u32 = 500;

/// Shows the events.
pub async fn run(args: EventsArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let infra_env = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
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

/// Prints events, oldest first; with `--follow`, continues until interrupted.
pub async fn print_events(client: &Client, query: &Query, tell: &TellArgs) -> Result<()> {
    let format = &tell.output.output;
    let mut last: Vec<Event> = client.get(&query.path(tell.limit)).await?;
    last.reverse();
    if !tell.follow {
        let names: Vec<String> = last.iter().filter_map(|event| event.name.clone()).collect();
        return show(format, || table(&last), &serde_json::to_value(&last)?, &names);
    }
    let wide = match format {
        Format::Table => false,
        Format::Wide => true,
        _ => return Err(Failure::usage("--follow prints lines: leave -o out, or take -o wide").into()),
    };
    let columns = width().filter(|_| !wide);
    print(&table(&last).render(columns, wide));
    let mut failed = false;
    loop {
        tokio::time::sleep(LOOK).await;
        match client.get::<Vec<Event>>(&query.path(AT_ONCE)).await {
            Ok(newest) => {
                failed = false;
                let news = news(&last, &newest);
                if !news.is_empty() {
                    print(&table(&news).lines(columns, wide).1.concat());
                    last = newest.into_iter().rev().collect();
                }
            }
            Err(error) => {
                if !failed {
                    eprintln!("{error:#}; still trying");
                }
                failed = true;
            }
        }
    }
}

/// The events of `newest` (newest first) that are not among those before, oldest first.
fn news(before: &[Event], newest: &[Event]) -> Vec<Event> {
    let Some(last) = before.last() else {
        return newest.iter().rev().cloned().collect();
    };
    let since = newest
        .iter()
        .take_while(|event| event.event_time >= last.event_time);
    let mut news: Vec<Event> = since.filter(|event| !before.contains(event)).cloned().collect();
    news.reverse();
    news
}

/// A time as tables show it, in whole seconds.
pub fn seconds(time: &str) -> String {
    let time = time.replace('T', " ");
    let seconds = time.split('.').next().unwrap_or_default();
    seconds.trim_end_matches('Z').to_owned()
}

fn table(events: &[Event]) -> Table {
    let row = |event: &Event| {
        vec![
            seconds(&event.event_time),
            event.severity.name().to_owned(),
            event.name.clone().unwrap_or_default(),
            event.host_id.map(|id| id.to_string()).unwrap_or_default(),
            event.message.clone(),
        ]
    };
    Table::new(COLUMNS, events.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time: &str, message: &str) -> Event {
        Event {
            cluster_id: None,
            event_time: time.into(),
            host_id: None,
            infra_env_id: None,
            message: message.into(),
            name: None,
            props: None,
            severity: Severity::Info,
        }
    }

    #[test]
    fn each_event_is_told_once() {
        let before = [
            event("2026-01-01T00:00:01.000Z", "a"),
            event("2026-01-01T00:00:02.000Z", "b"),
        ];
        let newest = [
            event("2026-01-01T00:00:03.000Z", "d"),
            event("2026-01-01T00:00:02.000Z", "c"),
            before[1].clone(),
            before[0].clone(),
        ];
        let messages: Vec<String> = news(&before, &newest)
            .into_iter()
            .map(|event| event.message)
            .collect();
        assert_eq!(messages, ["c", "d"]);
        assert_eq!(news(&[], &newest).len(), 4);
    }
}
