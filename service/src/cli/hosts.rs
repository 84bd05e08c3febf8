//! `muster hosts`: who is there, how they stand, and why.

use std::time::Duration;

use anyhow::Result;
use chrono::{DateTime, Utc};
use clap::Args;
use muster_api::host::Host;
use muster_api::ids::InfraEnvId;

use super::client::Client;
use super::output::{print, width};
use super::service::ServiceArgs;
use super::table::{Column, Place, Table};
use super::{fleet, names};

/// Which hosts, once or again and again.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// Only those of this InfraEnv
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// Print the table again when a host comes, goes or changes, until interrupted
    #[arg(long, short)]
    watch: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Columns of the table.
const COLUMNS: &[Column] = &[
    Column("NAME", Place::Always),
    Column("ID", Place::Room(0)),
    Column("INFRAENV", Place::Room(1)),
    Column("STATUS", Place::Always),
    Column("LAST SEEN", Place::Room(2)),
    Column("WHY", Place::Text),
];

/// How often a watch looks.
const LOOK: Duration = Duration::from_secs(1);

/// Prints the table.
pub async fn run(args: HostsArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let mut shown = None;
    let mut failed = false;
    loop {
        match rows(&client, only).await {
            Ok(rows) => {
                failed = false;
                // "Last seen" moves all the time; a host that changes is what a watcher waits for.
                let news: Vec<Vec<String>> = rows.iter().map(|row| [&row[..4], &row[5..]].concat()).collect();
                if shown.as_ref() != Some(&news) {
                    let gap = if shown.is_some() { "\n" } else { "" };
                    print(&format!(
                        "{gap}{}",
                        Table::new(COLUMNS, rows).render(width(), false)
                    ));
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
    let members = fleet::members(client, only).await?;
    let mut rows: Vec<Vec<String>> = members
        .into_iter()
        .map(|member| row(&member.pool.name, member.name(), member.host, Utc::now()))
        .collect();
    rows.sort();
    Ok(rows)
}

fn row(infra_env: &str, name: String, host: Host, now: DateTime<Utc>) -> Vec<String> {
    vec![
        name,
        host.id.to_string(),
        infra_env.to_owned(),
        host.status.map_or("-", |status| status.name()).to_owned(),
        last_seen(&host.checked_in_at, now),
        host.status_info.unwrap_or_default(),
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
