//! `muster host hostname`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use muster_api::jobs::JobAction;

use super::OnlyQueryArgs;
use crate::cli::arguments::csv_table::{CsvTable, WrongLines};
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

/// The columns of a table of names.
const COLUMNS: [&str; 2] = ["host", "name"];

/// Names the hosts.
pub async fn run(args: HostnameArgs) -> Result<()> {
    let names = match &args.from_csv {
        Some(file) => read(file)?,
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

fn read(file: &Path) -> Result<BTreeMap<String, String>> {
    let text = match file == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("--from-csv {} cannot be read", file.display()))?;
    Ok(names(&text).map_err(|wrong| wrong.refusal(file, "nothing was changed"))?)
}

fn names(text: &str) -> Result<BTreeMap<String, String>, WrongLines> {
    let (table, mut wrong) = CsvTable::read(text, &COLUMNS)?;
    let mut names = BTreeMap::new();
    for (line, row) in &table.rows {
        let (Some(host), Some(name)) = (table.cell(row, "host"), table.cell(row, "name")) else {
            wrong.tell(*line, "it lacks a host or a name");
            continue;
        };
        if names.insert(host.to_owned(), name.to_owned()).is_some() {
            wrong.tell(*line, format!("host {host} is on a line before, too"));
        }
    }
    match wrong.is_empty() {
        true => Ok(names),
        false => Err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_names_hosts() {
        let read = names("host,name\nSN-1,node-1\n00000000-0000-4000-8000-000000000002, node-2\n").unwrap();
        assert_eq!(read["SN-1"], "node-1");
        assert_eq!(read["00000000-0000-4000-8000-000000000002"], "node-2");
        let wrong = names("host,name\nSN-1,a\nSN-1,b\nSN-2,\n").unwrap_err();
        assert_eq!(
            wrong.texts(),
            [
                "line 3: host SN-1 is on a line before, too",
                "line 4: it lacks a host or a name"
            ]
        );
    }
}
