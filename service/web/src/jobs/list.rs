//! The list of jobs.

use askama::Template;
use axum::response::Response;
use muster_api::MUSTER_PATH;
use muster_api::jobs::{Job, Jobs};

use super::{address, mood, title};
use crate::html::{Frame, answer};
use crate::rest::{Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

#[derive(Template)]
#[template(path = "jobs/list.html")]
struct JobsPage {
    frame: Frame,
    jobs: Vec<Row>,
    /// The place in the stream of changes.
    revision: String,
    at: String,
}

/// A job as a row.
struct Row {
    address: String,
    title: String,
    state: &'static str,
    mood: &'static str,
    done: u64,
    total: u64,
    failed: u64,
    who: String,
    created_at: String,
    created: String,
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    // Before the jobs: what happens after them is behind this place in the stream of changes.
    let present = visitor.hosts("", 1, "").await?;
    let found: Jobs = visitor.get(&format!("{MUSTER_PATH}/jobs")).await?;
    Ok(answer(&JobsPage {
        frame: frame(&visitor).await?,
        jobs: found.jobs.iter().map(|job| Row::of(job, &present.at)).collect(),
        revision: present.revision,
        at: present.at,
    }))
}

impl Row {
    fn of(job: &Job, now: &str) -> Self {
        Self {
            address: address(job.id),
            title: title(&job.action),
            state: job.state.name(),
            mood: mood(job),
            done: job.counts.done,
            total: job.counts.total,
            failed: job.counts.failed,
            who: job.requested_by.clone().unwrap_or_default(),
            created: words::relative(&job.created_at, now),
            created_at: job.created_at.clone(),
        }
    }
}
