//! `muster host set`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use muster_api::host::Host;

use super::bulk;
use super::edit::{Wanted, change, parse_role};
use crate::cli::arguments::names;
use crate::cli::arguments::twins::same_name;
use crate::cli::failure::Failure;
use crate::cli::fleet;
use crate::cli::fleet::Member;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The host, and its changes.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Its name, its id, or the beginning of its id
    #[arg(required_unless_present = "from_csv")]
    host: Option<String>,

    /// Change many hosts from this file (- is standard input). Its first line names columns: host (name, id or beginning
    /// of the id), infra_env, name, role, disk, labels (KEY=VALUE and KEY- with blanks between), config_pool. Empty cells
    /// leave things as they are
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["host", "infra_env", "name", "role", "disk", "label", "config_pool"]
    )]
    from_csv: Option<PathBuf>,

    /// InfraEnv of the host, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// Its name from now on
    #[arg(long)]
    name: Option<String>,

    /// worker, master, arbiter or auto-assign
    #[arg(long, value_parser = role)]
    role: Option<String>,

    /// The disk that is installed to: id, name (sda, /dev/sda), by-path name or serial number
    #[arg(long)]
    disk: Option<String>,

    /// Label of its node: KEY=VALUE, or KEY- to remove it; may be given more than once
    #[arg(long, value_name = "LABEL", allow_hyphen_values = true)]
    label: Vec<String>,

    /// Machine config pool of its node
    #[arg(long, value_name = "NAME")]
    config_pool: Option<String>,

    /// Show what would change, or that the service would refuse it, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

fn role(text: &str) -> Result<String, String> {
    parse_role(text).map(|_| text.to_owned())
}

/// Changes the host.
pub async fn run(args: SetArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    if let Some(file) = &args.from_csv {
        return bulk::run(&client, file, args.dry_run).await;
    }
    let wanted = Wanted {
        name: args.name,
        role: args.role,
        disk: args.disk,
        labels: args.label,
        config_pool: args.config_pool,
    };
    if wanted == Wanted::default() {
        return Err(Failure::usage("nothing is to be changed")
            .hint("muster host set --help shows what can be")
            .into());
    }
    let only = names::infra_env_id(&client, args.infra_env.as_deref()).await?;
    let all = fleet::members(&client, only).await?;
    let member = &all[names::host_in(&all, args.host.as_deref().unwrap_or_default())?];
    let name = member.name();
    let change = change(member, &wanted).map_err(|problems| Failure::refused(problems.join("; ")))?;
    let renamed = change
        .params
        .host_name
        .iter()
        .map(|new| (member.key(), new.clone()));
    if let Some(other) = same_name(member, &renamed.collect(), &all) {
        return Err(Failure::refused(format!(
            "another host of the InfraEnv {} is called {} already ({})",
            other.pool.name,
            other.name(),
            other.host.id
        ))
        .hint("rename or delete that one first; names may change places in a table (--from-csv)")
        .into());
    }
    if change.is_empty() {
        print(&format!("host {name} is so already\n{}", indented(&change.same)));
        return Ok(());
    }
    let _: Host = client
        .patch(&change_path(member, args.dry_run), &change.params)
        .await?;
    let would = if args.dry_run {
        " (not done: --dry-run)"
    } else {
        ""
    };
    let (lines, same) = (indented(&change.lines), indented(&change.same));
    print(&format!("host {name}{would}\n{lines}{same}"));
    Ok(())
}

/// The path by which a host is changed, or checked whether it would be.
pub(super) fn change_path(member: &Member, dry_run: bool) -> String {
    let query = if dry_run { "?dry_run=true" } else { "" };
    format!("{}{query}", member.path())
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}\n")).collect()
}
