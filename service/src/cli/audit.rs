//! `muster audit`.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::audit::{AuditPage, AuditedChange};

use super::events::seconds;
use super::output::{Column, Fit, Format, Table, format, print, show};
use super::service::{Client, ServiceArgs};

/// The part of the audit, and its form.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Number of entries, the newest; not for jsonl
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,

    /// Only entries after the one with this number
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(0..))]
    after: Option<i64>,

    /// table, wide, json, yaml, name (numbers), jsonpath=PATH, or jsonl: all entries that the service keeps, a line of JSON each
    #[arg(long = "output", short, value_name = "FORMAT", default_value = "table", value_parser = form)]
    output: Form,

    #[command(flatten)]
    service: ServiceArgs,
}

/// The form of the audit.
#[derive(Debug, Clone)]
enum Form {
    Lines,
    Other(Format),
}

fn form(text: &str) -> Result<Form, String> {
    match text {
        "jsonl" => Ok(Form::Lines),
        text => format(text)
            .map(Form::Other)
            .map_err(|why| format!("{why}; or jsonl")),
    }
}

const COLUMNS: &[Column] = &[
    Column("NUMBER", Fit::Wide),
    Column("TIME", Fit::Always),
    Column("WHO", Fit::Always),
    Column("SESSION", Fit::Wide),
    Column("STATUS", Fit::Always),
    Column("OPERATION", Fit::Always),
    Column("REQUEST", Fit::Wide),
    Column("OBJECT", Fit::Text),
];

/// Shows the entries, the newest last.
pub async fn run(args: AuditArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let path = format!("{MUSTER_PATH}/audit");
    let after = args
        .after
        .map(|after| format!("&after={after}"))
        .unwrap_or_default();
    let format = match &args.output {
        Form::Lines => {
            let answer = client.stream(&format!("{path}?format=jsonl{after}")).await?;
            print(&answer.text().await?);
            return Ok(());
        }
        Form::Other(format) => format,
    };
    let page: AuditPage = client.get(&format!("{path}?limit={}{after}", args.limit)).await?;
    let entries = page.entries;
    let numbers: Vec<String> = entries.iter().map(|entry| entry.number.to_string()).collect();
    let table = || Table::new(COLUMNS, entries.iter().map(row).collect());
    show(format, table, &serde_json::to_value(&entries)?, &numbers)
}

fn row(entry: &AuditedChange) -> Vec<String> {
    let object = entry.object.as_ref().map(|object| match object.name.as_str() {
        "" => format!("{} {}", object.kind, object.id),
        name => format!("{} {name} ({})", object.kind, object.id),
    });
    vec![
        entry.number.to_string(),
        seconds(&entry.at),
        entry.who.clone(),
        entry.session_id.clone().unwrap_or_default(),
        match entry.status {
            0 => "done".to_owned(),
            status => status.to_string(),
        },
        entry.operation.clone(),
        entry.request_id.clone(),
        object.unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_form_beside_those_of_all_commands() {
        assert!(matches!(form("jsonl"), Ok(Form::Lines)));
        assert!(matches!(form("json"), Ok(Form::Other(Format::Json))));
        assert!(form("xml").unwrap_err().ends_with("or jsonl"));
    }
}
