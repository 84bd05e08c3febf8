//! `muster jobs`.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::jobs::{Job, Jobs};

use crate::cli::output::{Column, Fit, OutputArgs, Table, show};
use crate::cli::service::{Client, ServiceArgs};

/// The format of the list.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

const COLUMNS: &[Column] = &[
    Column("ID", Fit::Always),
    Column("ACTION", Fit::Always),
    Column("STATE", Fit::Always),
    Column("DONE", Fit::Always),
    Column("FAILED", Fit::Always),
    Column("CREATED", Fit::Room(0)),
    Column("BY", Fit::Room(1)),
    Column("REASON", Fit::Text),
];

/// Lists the jobs that run, and those that ended within a day.
pub async fn run(args: ListArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found: Jobs = client.get(&format!("{MUSTER_PATH}/jobs")).await?;
    let jobs = &found.jobs;
    let ids: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
    let table = || Table::new(COLUMNS, jobs.iter().map(row).collect());
    show(&args.output.output, table, &serde_json::to_value(jobs)?, &ids)
}

fn row(job: &Job) -> Vec<String> {
    vec![
        job.id.to_string(),
        job.action.name().to_owned(),
        job.state.name().to_owned(),
        format!("{} of {}", job.counts.done, job.counts.total),
        job.counts.failed.to_string(),
        job.created_at.get(..19).unwrap_or_default().replace('T', " "),
        job.requested_by.clone().unwrap_or_default(),
        job.reason.clone(),
    ]
}
