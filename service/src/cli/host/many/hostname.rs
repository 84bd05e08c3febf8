//! `muster host hostname`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use muster_api::jobs::JobAction;

use super::{OnlyQueryArgs, table};
use crate::cli::service::{Client, ServiceArgs};

/// The names, and the hosts.
#[derive(Debug, Args)]
#[command(mut_arg("query", |arg| arg.required(true)))]
pub struct HostnameArgs {
    /// A pattern such as node-{n:03} or {switch}-{port}; {serial} and {mac} as well. {n} counts in the order of the hosts
    #[arg(required_unless_present = "from_csv", conflicts_with = "from_csv")]
    pattern: Option<String>,

    /// Names from this file (- is standard input). Its first line names the columns: host (id or serial number) and name
    #[arg(long, value_name = "FILE")]
    from_csv: Option<PathBuf>,

    /// The order of the hosts, such as switch or -cpu [default: by name]
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    sort: Option<String>,

    #[command(flatten)]
    hosts: OnlyQueryArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Names the hosts.
pub async fn run(args: HostnameArgs) -> Result<()> {
    let names = match &args.from_csv {
        Some(file) => table::read(file, "name")?,
        None => BTreeMap::new(),
    };
    let client = Client::new(&args.service)?;
    let action = JobAction::Hostname {
        pattern: args.pattern,
        names,
    };
    let sort = args.sort.as_deref().unwrap_or_default();
    args.hosts.run(&client, sort, action).await
}
