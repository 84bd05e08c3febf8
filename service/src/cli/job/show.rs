//! `muster job show`.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::{Job, JobResult};

use super::path::path;
use crate::cli::output::{Column, Details, Fit, OutputArgs};
use crate::cli::service::{Client, ServiceArgs};

/// The job, and the format.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Its id (muster jobs)
    job: String,

    /// Show the hosts that failed alone
    #[arg(long)]
    failed: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Results in one request.
const AT_ONCE: u32 = 1000;

const COLUMNS: &[Column] = &[
    Column("HOST", Fit::Always),
    Column("INFRAENV", Fit::Always),
    Column("RESULT", Fit::Always),
    Column("REASON", Fit::Text),
];

/// Shows a job with its results.
pub async fn run(args: ShowArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let job = whole(&client, &args.job, args.failed).await?;
    let mut details = Details::default();
    let counts = job.counts;
    details
        .line("id", &job.id.to_string())
        .line("action", job.action.name())
        .line("state", job.state.name())
        .line("reason", &job.reason)
        .line("requested by", job.requested_by.as_deref().unwrap_or_default())
        .line("created", &job.created_at)
        .line("ended", job.ended_at.as_deref().unwrap_or_default())
        .line("hosts", &format!("{} of {} done", counts.done, counts.total))
        .line("changed", &counts.changed.to_string())
        .line("so already", &counts.already.to_string())
        .line("failed", &counts.failed.to_string())
        .table("Hosts", COLUMNS, job.results.iter().map(row).collect());
    let id = job.id.to_string();
    details.show(&args.output.output, &serde_json::to_value(&job)?, &id)
}

/// A job with all of its results.
async fn whole(client: &Client, id: &str, failed: bool) -> Result<Job> {
    let part = async |after: &str| -> Result<Job> {
        let query = format!("failed={failed}&limit={AT_ONCE}&after={after}");
        client.get(&format!("{}?{query}", path(id))).await
    };
    let mut job = part("").await?;
    while let Some(after) = job.next.take() {
        let more = part(&after).await?;
        job.results.extend(more.results);
        job.next = more.next;
    }
    Ok(job)
}

fn row(result: &JobResult) -> Vec<String> {
    vec![
        result.host.name.clone(),
        result.host.pool.clone(),
        result.outcome.name().to_owned(),
        result.reason.clone(),
    ]
}
