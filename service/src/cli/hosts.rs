//! `muster hosts`: who is there, how they stand, and why.

use std::time::Duration;

use anyhow::Result;
use chrono::{DateTime, Utc};
use clap::Args;
use muster_api::host::Host;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnv;

use super::client::{Client, ServiceArgs};
use super::output::print;
use super::table;

/// Which hosts, once or again and again.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// Only those of this InfraEnv
    #[arg(long, value_name = "ID")]
    infra_env: Option<InfraEnvId>,

    /// Print the table again when a host comes, goes or changes, until interrupted
    #[arg(long, short)]
    watch: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Columns of the table.
const HEADINGS: [&str; 6] = ["NAME", "ID", "INFRAENV", "STATUS", "WHY", "LAST SEEN"];

/// How often a watch looks.
const LOOK: Duration = Duration::from_secs(1);

/// Prints the table.
pub async fn run(args: HostsArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let mut shown = None;
    let mut failed = false;
    loop {
        match rows(&client, args.infra_env).await {
            Ok(rows) => {
                failed = false;
                // "Last seen" moves all the time; a host that changes is what a watcher waits for.
                let news: Vec<Vec<String>> = rows.iter().map(|row| row[..5].to_vec()).collect();
                if shown.as_ref() != Some(&news) {
                    let gap = if shown.is_some() { "\n" } else { "" };
                    print(&format!("{gap}{}", table::render(&HEADINGS, &rows)));
                    shown = Some(news);
                }
            }
            Err(error) if args.watch => {
                if !failed {
                    eprintln!("{error:#}; still trying");
                }
                failed = true;
            }
            Err(error) => return Err(error),
        }
        if !args.watch {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn rows(client: &Client, only: Option<InfraEnvId>) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for infra_env in client.get::<Vec<InfraEnv>>("/infra-envs").await? {
        if only.is_some_and(|id| id != infra_env.id) {
            continue;
        }
        let hosts: Vec<Host> = client.get(&format!("/infra-envs/{}/hosts", infra_env.id)).await?;
        rows.extend(
            hosts
                .into_iter()
                .map(|host| row(&infra_env.name, host, Utc::now())),
        );
    }
    rows.sort();
    Ok(rows)
}

fn row(infra_env: &str, host: Host, now: DateTime<Utc>) -> Vec<String> {
    vec![
        host.requested_hostname,
        host.id.to_string(),
        infra_env.to_owned(),
        host.status.map_or("-", |status| status.name()).to_owned(),
        host.status_info.unwrap_or_default(),
        last_seen(&host.checked_in_at, now),
    ]
}

fn last_seen(moment: &str, now: DateTime<Utc>) -> String {
    let Ok(at) = DateTime::parse_from_rfc3339(moment) else {
        return "-".into();
    };
    let seconds = (now - at.to_utc()).num_seconds().max(0);
    match seconds {
        0..120 => format!("{seconds}s ago"),
        120..7200 => format!("{}m ago", seconds / 60),
        7200..172_800 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_tell_them() {
        let now = DateTime::parse_from_rfc3339("2026-11-21T14:00:00Z")
            .unwrap()
            .to_utc();
        assert_eq!(last_seen("2026-11-21T13:59:18.000Z", now), "42s ago");
        assert_eq!(last_seen("2026-11-21T13:00:00.000Z", now), "60m ago");
        assert_eq!(last_seen("2026-11-11T13:00:00.000Z", now), "10d ago");
        assert_eq!(last_seen("garbage", now), "-");
    }
}
