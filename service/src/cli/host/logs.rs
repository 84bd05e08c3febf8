//! `muster host logs`: requests the logs from the host, waits, and downloads them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::host::{HostLogArchive, HostLogs, HostLogsState};
use muster_api::jobs::JobAction;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::many::QueryArgs;
use crate::cli::arguments::names;
use crate::cli::events::seconds;
use crate::cli::failure::{Failure, Kind, kind_of, with_hint};
use crate::cli::fleet::Member;
use crate::cli::output::print;
use crate::cli::service::save::save;
use crate::cli::service::{Client, ServiceArgs};

/// Interval between two checks for the logs.
const INTERVAL: Duration = Duration::from_secs(1);

/// The service gives up earlier; this limit is for a service whose clock was changed meanwhile.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// The host, and the file to write.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Its name, its id, or the beginning of its id
    #[arg(required_unless_present = "query", conflicts_with = "query")]
    host: Option<String>,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// Write the archive into this file [default: NAME-logs.tar.gz]
    #[arg(
        long,
        short = 'f',
        visible_alias = "output",
        visible_short_alias = 'o',
        value_name = "FILE"
    )]
    file: Option<PathBuf>,

    /// Download the last logs that the host uploaded, without a request, also those of a failed installation
    #[arg(long)]
    last: bool,

    #[command(flatten)]
    many: QueryArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Requests, waits and downloads.
pub async fn run(args: LogsArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if args.many.is_given() {
        if args.last || args.file.is_some() {
            return Err(Failure::usage("--query requests logs and downloads none").into());
        }
        let infra_env = args.infra_env.as_deref();
        return args.many.run(&client, infra_env, "", JobAction::Logs).await;
    }
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let member = names::host(&client, args.host.as_deref().unwrap_or_default(), only).await?;
    let path = format!("{MUSTER_PATH}{}/logs", member.path());
    let name = member.name();
    if !args.last {
        ask(&client, &member, &path).await?;
    } else if client.get::<HostLogs>(&path).await?.archive.is_none() {
        return Err(Failure::refused(format!(
            "no logs of host {name} are kept: none came, or they were too old"
        ))
        .hint(format!("request them: muster host logs {name}"))
        .into());
    }
    let file = args
        .file
        .unwrap_or_else(|| PathBuf::from(format!("{name}-logs.tar.gz")));
    let archive = client.stream(&format!("{path}/archive")).await?;
    let written = save(archive, &file).await?;
    print(&format!("{}: {written} bytes\n", file.display()));
    Ok(())
}

/// Returns once the service has the host's logs.
async fn ask(client: &Client, member: &Member, path: &str) -> Result<()> {
    let mut logs: HostLogs = match client.post(path, &json!({})).await {
        Err(error) if kind_of(&error) == Kind::Refused => {
            let kept: HostLogs = client.get(path).await?;
            return Err(match kept.archive {
                Some(archive) => with_hint(error, earlier_ones(member, &archive)),
                None => error,
            });
        }
        asked => asked?,
    };
    let name = member.name();
    let time = |at: &Option<String>| at.as_deref().map(seconds).unwrap_or_default();
    eprintln!(
        "{name} learns of it with its next poll, at {} UTC at the latest; waiting until {} UTC",
        time(&logs.next_poll_at),
        time(&logs.until)
    );
    let (begin, mut first_poll) = (Instant::now(), logs.next_poll_at.clone());
    while logs.state == HostLogsState::Asked && begin.elapsed() < LIMIT {
        sleep(INTERVAL).await;
        logs = client.get(path).await?;
        if logs.next_poll_at.is_some() && first_poll.is_some() && logs.next_poll_at != first_poll {
            eprintln!("{name} has polled, and collects its logs");
            first_poll = None;
        }
    }
    match logs.state {
        HostLogsState::Came => Ok(()),
        HostLogsState::Asked | HostLogsState::Failed | HostLogsState::NotAsked => {
            Err(not_come(member, &logs).into())
        }
    }
}

fn not_come(member: &Member, logs: &HostLogs) -> Failure {
    let name = member.name();
    let reason = logs.reason.as_deref().unwrap_or("nothing came in time");
    let failure = Failure::new(Kind::Failed, format!("host {name} sent no logs: {reason}"))
        .hint(format!("what happened to it: muster host history {name}"));
    match &logs.archive {
        Some(archive) => failure.hint(earlier_ones(member, archive)),
        None => failure,
    }
}

fn earlier_ones(member: &Member, archive: &HostLogArchive) -> String {
    let name = member.name();
    format!(
        "its logs of {} UTC are there: muster host logs {name} --last",
        seconds(&archive.came_at)
    )
}
