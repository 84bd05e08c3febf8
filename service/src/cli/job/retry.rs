//! `muster job retry`.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::{Job, JobRetryParams};

use super::follow::follow;
use super::path::path;
use super::wait;
use crate::cli::service::{Client, ServiceArgs};

/// The job whose failed hosts are tried again.
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// Its id (muster jobs)
    job: String,

    /// The number of hosts, for actions that are confirmed by it; the refusal without it has the number
    #[arg(long, value_name = "NUMBER")]
    confirm: Option<u64>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Begins another job, and shows its progress.
pub async fn run(args: RetryArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let params = JobRetryParams {
        confirm: args.confirm,
    };
    let (patient, path) = (
        client.patient(wait::SILENCE)?,
        format!("{}/retry", path(&args.job)),
    );
    let beginning = patient.post(&path, &params);
    let job: Job = wait::shown("the plan is made", beginning).await?;
    follow(&client, job).await
}
