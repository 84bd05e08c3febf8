//! `muster host list`, also called `muster hosts`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::Utc;
use clap::Args;
use muster_api::ids::InfraEnvId;
use muster_api::search::TermRemoval;
use serde_json::Value;

use super::booting;
use super::filter::{FilterArgs, ordered, search, search_words};
use super::rows::{COLUMNS, LAST_SEEN, is_good, row};
use crate::cli::arguments::names;
use crate::cli::failure::{Failure, Kind, kind_of};
use crate::cli::fleet::{self, HostKey, Known, Member};
use crate::cli::output::{Format, OutputArgs, Table, Watch, show, width};
use crate::cli::service::{Client, ServiceArgs};

/// Which hosts, and whether to watch them.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only these: names, ids, serial numbers, MAC or IP addresses; else beginnings of ids, parts of names or serial numbers
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,

    /// Show the table again when a host comes, goes or changes, until interrupted. Without a terminal only changed lines
    #[arg(long, short)]
    watch: bool,

    /// Order by this key, such as cpu, or -cpu for the largest first: name, state, pool, cluster, cpu, memory, disk, seen, since, serial,
    /// model, switch, agent [default: by InfraEnv and name]
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    sort: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Interval between two requests of a watch.
const LOOK: Duration = Duration::from_secs(1);

/// After this time a watch requests all hosts, changed or not.
const SEE_AGAIN: Duration = Duration::from_secs(30);

/// Lists the hosts.
pub async fn run(mut args: ListArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    args.filter.resolve(&client).await?;
    let only = names::infra_env_id(&client, args.filter.infra_env.as_deref()).await?;
    if !args.watch {
        let all = fleet::members(&client, only).await?;
        let found = select(&client, only, &args, all, Unknown::IsAnError).await?;
        print_once(&args.output.output, &found)?;
        if found.is_empty() {
            booting::hint(&client, only).await;
        }
        return Ok(());
    }
    let wide = match args.output.output {
        Format::Table => false,
        Format::Wide => true,
        _ => {
            return Err(Failure::usage("--watch shows tables: leave -o out, or take -o wide").into());
        }
    };
    watch(&client, only, &args, wide).await
}

/// What becomes of a word that means no host.
#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    IsAnError,
    /// It may mean one later.
    MeansNone,
}

/// The hosts of `all` that the options select.
///
/// # Errors
/// For a word that means no host, with similar names.
async fn select(
    client: &Client,
    only: Option<InfraEnvId>,
    args: &ListArgs,
    mut all: Vec<Member>,
    unknown: Unknown,
) -> Result<Vec<Member>> {
    let query = args.filter.query(only);
    let is_filtered = !args.filter.query(None).is_empty();
    let known: Vec<Member> = match is_filtered && !args.hosts.is_empty() {
        true => all.clone(),
        false => Vec::new(),
    };
    if is_filtered || args.sort.is_some() {
        let (keys, removals) = search(client, &query, args.sort.as_deref().unwrap_or_default()).await?;
        if unknown == Unknown::IsAnError {
            for removal in removals {
                let TermRemoval {
                    term,
                    removes,
                    removes_alone,
                } = removal;
                eprintln!("{term} removes {removes} of the hosts; {removes_alone} would fit without it");
            }
        }
        all = match args.sort {
            Some(_) => ordered(all, &keys),
            None => {
                let keys: HashSet<HostKey> = keys.into_iter().collect();
                all.retain(|member| keys.contains(&member.key()));
                all
            }
        };
    }
    if !args.hosts.is_empty() {
        let (mut meant, words) = search_words(client, &query, &args.hosts).await?;
        for word in words {
            match names::host_in(&all, &word) {
                Ok(place) => {
                    meant.insert(all[place].key());
                }
                Err(_) if unknown == Unknown::IsAnError && names::host_in(&known, &word).is_ok() => {
                    return Err(
                        Failure::not_found(format!("host {word:?} does not pass the filters")).into(),
                    );
                }
                Err(error) if unknown == Unknown::IsAnError => return Err(error.into()),
                Err(_) => {}
            }
        }
        all.retain(|member| meant.contains(&member.key()));
    }
    Ok(all)
}

fn table(found: &[Member], wide: bool) -> Table {
    let terse = !wide && width().is_some();
    let rows = found.iter().map(|member| row(member, Utc::now(), terse));
    Table::new(COLUMNS, rows.collect())
}

fn print_once(format: &Format, found: &[Member]) -> Result<()> {
    let json: Vec<Value> = found.iter().map(Member::json).collect::<Result<_>>()?;
    let names: Vec<String> = found.iter().map(|member| member.host.id.to_string()).collect();
    show(
        format,
        || table(found, matches!(format, Format::Wide)),
        &Value::from(json),
        &names,
    )
}

async fn watch(client: &Client, only: Option<InfraEnvId>, args: &ListArgs, wide: bool) -> Result<()> {
    let mut watch = Watch::new(LAST_SEEN, wide);
    let mut failed = false;
    let (mut known, mut begun) = (Known::default(), Instant::now());
    loop {
        // Polls are no change, but they move the time of a host's last poll.
        if begun.elapsed() > SEE_AGAIN {
            known.forget();
            begun = Instant::now();
        }
        let found = match fleet::members_again(client, only, &mut known).await {
            Ok(all) => select(client, only, args, all, Unknown::MeansNone).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => {
                failed = false;
                let keys = found.iter().map(|member| member.host.id.to_string()).collect();
                let urgent: Vec<bool> = found.iter().map(|member| !is_good(member)).collect();
                watch.show(keys, &urgent, &table(&found, wide));
            }
            // Another attempt would be refused as well.
            Err(error) if matches!(kind_of(&error), Kind::Refused | Kind::NotFound | Kind::Usage) => {
                return Err(error);
            }
            Err(error) => {
                if !failed {
                    eprintln!("{error:#}; still trying");
                }
                failed = true;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::{member, now};
    use super::*;

    #[test]
    fn twenty_hosts_fit_into_a_terminal() {
        for (width, name) in [(80, "80"), (120, "120"), (200, "200")] {
            let rows = (1..=20).map(|n| row(&member(n), now(), true)).collect();
            let text = Table::new(COLUMNS, rows).render(Some(width), false);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{widest} of {width}:\n{text}");
            let file = format!(
                "{}/tests/command_line/golden/twenty-hosts-{name}-columns.txt",
                env!("CARGO_MANIFEST_DIR")
            );
            if std::env::var_os("MUSTER_BLESS").is_some() {
                std::fs::write(&file, &text).unwrap();
            }
            let wanted = std::fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(text, wanted, "{file}; if that is meant: MUSTER_BLESS=1");
        }
    }
}
