//! Jobs: one action for many hosts. A selection of the list becomes a plan, the plan a job with a result for each host.

mod command;
mod fields;
mod kind;
mod list;
mod one;
mod plan;
mod selection;
mod table;

use muster_api::ids::JobId;
use muster_api::jobs::{Job, JobAction, JobHost, JobState};

use crate::hosts;
use crate::html::JOBS;
use crate::rest::Form;

pub use kind::Kind;
pub use list::list;
pub use one::{act, show};
pub use plan::{begin, plan};

/// The path of a job's page.
fn address(id: JobId) -> String {
    format!("{JOBS}/{id}")
}

/// The number of hosts that a person typed; `None`: it is none.
fn number(form: &Form) -> Option<u64> {
    form.field("confirm").parse().ok()
}

/// A host of a job as a link.
struct HostLink {
    address: String,
    name: String,
    pool: String,
}

impl HostLink {
    fn of(host: &JobHost) -> Self {
        Self {
            address: hosts::address(host.infra_env_id, host.id),
            name: host.name.clone(),
            pool: host.pool.clone(),
        }
    }
}

/// The action of a job in words, with its values: `Give a role: worker`.
fn title(action: &JobAction) -> String {
    let title = Kind::of(action).title();
    match fields::words(action) {
        words if words.is_empty() => title.to_owned(),
        words => format!("{title}: {words}"),
    }
}

/// How the state of a job is to be taken.
fn mood(job: &Job) -> &'static str {
    match job.state {
        JobState::Running => "busy",
        JobState::Finished if job.counts.failed == 0 => "good",
        JobState::Finished | JobState::Cancelled | JobState::Stopped => "bad",
    }
}
