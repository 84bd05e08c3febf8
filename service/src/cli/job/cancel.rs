//! `muster job cancel`.

use anyhow::Result;
use clap::Args;
use muster_api::jobs::{Job, JobState};

use super::path::path;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The job.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// Its id (muster jobs)
    job: String,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Cancels it.
pub async fn run(args: CancelArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    client.delete(&path(&args.job)).await?;
    let job: Job = client.get(&format!("{}?limit=0", path(&args.job))).await?;
    let counts = job.counts;
    print(&match job.state {
        JobState::Cancelled => format!(
            "job {} is cancelled: {} of {} hosts were done\n",
            job.id, counts.done, counts.total
        ),
        state => format!("job {} had ended: {}\n", job.id, state.name()),
    });
    Ok(())
}
