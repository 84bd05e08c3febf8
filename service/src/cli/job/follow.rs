//! Shows the progress of a job until it ends.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::Result;
use muster_api::jobs::{Job, JobCounts, JobState};
use muster_core::text::one_line;
use tokio::time::sleep;

use super::path::path;
use crate::cli::failure::{Failure, Kind, kind_of};
use crate::cli::output::print;
use crate::cli::service::Client;

/// Interval between two requests.
const LOOK: Duration = Duration::from_millis(500);

/// Time without a response before the command ends; the job goes on.
const PATIENCE: Duration = Duration::from_secs(120);

/// Longest line about a host, bytes: machines choose their names.
pub const LONGEST: usize = 2000;

/// Failed hosts that are printed.
const TOLD: usize = 20;

/// Returns when the job has ended.
///
/// # Errors
/// Fails if the action was refused for a host, or the job was ended before its last host.
pub async fn follow(client: &Client, job: Job) -> Result<()> {
    let id = job.id.to_string();
    eprintln!("job {id} runs, also without this command: muster job show {id}");
    let is_terminal = std::io::stderr().is_terminal();
    let (mut job, mut answered) = (job, Instant::now());
    while job.state == JobState::Running {
        if is_terminal {
            eprint!("\r{}\x1b[K", progress(job.counts));
        }
        sleep(LOOK).await;
        job = match client.get(&format!("{}?limit=0", path(&id))).await {
            Ok(found) => {
                answered = Instant::now();
                found
            }
            // The job goes on.
            Err(error) if kind_of(&error) == Kind::Unreachable && answered.elapsed() < PATIENCE => continue,
            Err(error) => return Err(error),
        };
    }
    if is_terminal {
        eprint!("\r\x1b[K");
    }
    print(&format!("{}\n", ended(&job)));
    if job.counts.failed == 0 && job.state == JobState::Finished {
        return Ok(());
    }
    print_failed(client, &id).await?;
    Err(not_done(&job).into())
}

fn progress(counts: JobCounts) -> String {
    let JobCounts {
        total, done, failed, ..
    } = counts;
    match failed {
        0 => format!("{done} of {total} hosts"),
        failed => format!("{done} of {total} hosts, {failed} failed"),
    }
}

fn ended(job: &Job) -> String {
    let JobCounts {
        total,
        changed,
        already,
        failed,
        ..
    } = job.counts;
    let why = match job.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    format!(
        "job {} {}{why}: of {total} hosts {changed} changed, {already} were so already, {failed} failed",
        job.id,
        job.state.name()
    )
}

async fn print_failed(client: &Client, id: &str) -> Result<()> {
    let failed: Job = client
        .get(&format!("{}?failed=true&limit={TOLD}", path(id)))
        .await?;
    for result in &failed.results {
        let (name, pool) = (&result.host.name, &result.host.pool);
        let line = format!("host {name} ({pool}): {}", result.reason);
        eprintln!("{}", one_line(&line, LONGEST));
    }
    if failed.next.is_some() {
        eprintln!("and more: muster job show {id} --failed");
    }
    Ok(())
}

fn not_done(job: &Job) -> Failure {
    let counts = job.counts;
    match job.state {
        JobState::Finished | JobState::Running => Failure::refused(format!(
            "{} of {} hosts were not changed",
            counts.failed, counts.total
        ))
        .hint(format!("try them again: muster job retry {}", job.id)),
        JobState::Cancelled | JobState::Stopped => Failure::new(
            Kind::Failed,
            format!(
                "the job was ended before {} of {} hosts",
                counts.total.saturating_sub(counts.done),
                counts.total
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(state: &str, failed: u64) -> Job {
        serde_json::from_value(json!({
            "id": "00000000-0000-4000-8000-000000000001", "action": {"kind": "install"}, "state": state, "reason": "",
            "created_at": "2026-12-01T13:00:00.000Z",
            "counts": {"total": 5, "done": 4, "changed": 4 - failed, "already": 0, "failed": failed},
        }))
        .unwrap()
    }

    #[test]
    fn progress_and_end_have_the_numbers() {
        assert_eq!(progress(job("running", 0).counts), "4 of 5 hosts");
        assert_eq!(progress(job("running", 2).counts), "4 of 5 hosts, 2 failed");
        let stopped = Job {
            reason: "token revoked".into(),
            ..job("stopped", 1)
        };
        assert_eq!(
            ended(&stopped),
            "job 00000000-0000-4000-8000-000000000001 stopped (token revoked): of 5 hosts 3 changed, 0 were so already, 1 failed"
        );
        assert_eq!(
            not_done(&stopped).to_string(),
            "the job was ended before 1 of 5 hosts"
        );
        assert_eq!(not_done(&job("finished", 1)).kind, Kind::Refused);
    }
}
