//! `muster search`.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::search::{FoundRecord, FoundRecords};
use url::form_urlencoded::byte_serialize;

use super::output::{Column, Fit, OutputArgs, Table, show};
use super::service::{Client, ServiceArgs};

/// The text, and the form of the answer.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words that a record has in its texts: a name, an id, a serial number, a MAC or IP address, or parts of them
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

const COLUMNS: &[Column] = &[
    Column("KIND", Fit::Always),
    Column("NAME", Fit::Always),
    Column("ID", Fit::Wide),
    Column("DETAIL", Fit::Text),
];

/// Shows the records that fit, the best first.
pub async fn run(args: SearchArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let text: String = byte_serialize(args.text.join(" ").as_bytes()).collect();
    let found: FoundRecords = client.get(&format!("{MUSTER_PATH}/search?q={text}")).await?;
    let records = &found.records;
    let ids: Vec<String> = records.iter().map(|record| record.id.clone()).collect();
    let table = || Table::new(COLUMNS, records.iter().map(row).collect());
    show(&args.output.output, table, &serde_json::to_value(records)?, &ids)?;
    if records.is_empty() {
        eprintln!("nothing fits; queries with keys, such as state:known, are for muster hosts --query");
    }
    if found.total > records.len() {
        eprintln!("{} more fit; write more of the text", found.total - records.len());
    }
    Ok(())
}

fn row(record: &FoundRecord) -> Vec<String> {
    vec![
        record.kind.name().to_owned(),
        record.name.clone(),
        record.id.clone(),
        record.detail.clone(),
    ]
}
