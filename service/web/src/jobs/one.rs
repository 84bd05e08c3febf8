//! The page of a job: how far it is, what it did with each host, its end, and the same again for the hosts where it failed.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use muster_api::MUSTER_PATH;
use muster_api::ids::JobId;
use muster_api::jobs::{Job, JobAction, JobCounts, JobOutcome, JobResult, JobState};
use serde_json::json;

use super::command;
use super::kind::Kind;
use super::{HostLink, address, mood, number, title};
use crate::html::{Frame, answer};
use crate::rest::{Form, Path, Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// Results in a window.
const WINDOW: usize = 100;

#[derive(Template)]
#[template(path = "jobs/one.html")]
struct JobPage {
    frame: Frame,
    /// The path of the page.
    address: String,
    /// The path of REST.
    source: String,
    id: JobId,
    title: String,
    state: &'static str,
    mood: &'static str,
    is_running: bool,
    /// Of a job that stopped.
    reason: String,
    /// Name of the token; empty: none was required.
    who: String,
    created_at: String,
    created: String,
    /// Empty: it runs.
    ended_at: String,
    ended: String,
    /// The page of the job whose failed hosts these are.
    before: Option<String>,
    counts: JobCounts,
    /// Another one of it may need the number of its hosts.
    may_need_number: bool,
    /// Hosts without a result.
    left: u64,
    is_failed_only: bool,
    /// The address of this window.
    own: String,
    is_first: bool,
    results: Vec<ResultRow>,
    next: Option<String>,
    /// The command for the same hosts; `None`: they are not all shown, or `muster` has none.
    command: Option<String>,
    /// The refusal of a form of this page.
    problem: Option<String>,
    /// The place in the stream of changes.
    revision: String,
    at: String,
}

/// The result for a host.
struct ResultRow {
    host: HostLink,
    outcome: &'static str,
    mood: &'static str,
    reason: String,
    at: String,
    when: String,
}

pub async fn show(visitor: Visitor, Path(id): Path<JobId>) -> Result<Response, Refusal> {
    Ok(answer(&page(&visitor, id, None).await?))
}

/// Ends a job (`cancel`), or begins another one for the hosts where it failed (`retry`).
pub async fn act(
    visitor: Visitor,
    Path((id, action)): Path<(JobId, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let visitor = visitor.at(&address(id));
    let path = format!("{MUSTER_PATH}/jobs/{id}");
    let done = match action.as_str() {
        "cancel" => visitor.send(Method::DELETE, &path, None).await.map(|_| id),
        "retry" => retry(&visitor, &path, &form).await,
        other => Err(visitor.refusal(
            StatusCode::NOT_FOUND,
            format!("{other} is nothing that is done with a job"),
        )),
    };
    match done {
        Ok(id) => Ok(Redirect::to(&address(id)).into_response()),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => {
            let page = page(&visitor, id, Some(refusal.reason)).await?;
            Ok((refusal.status, answer(&page)).into_response())
        }
    }
}

/// The id of the job for the hosts where this one failed.
async fn retry(visitor: &Visitor, path: &str, form: &Form) -> Result<JobId, Refusal> {
    let body = match number(form) {
        Some(typed) => json!({"confirm": typed}),
        None => json!({}),
    };
    let job: Job = visitor.create(&format!("{path}/retry"), &body).await?;
    Ok(job.id)
}

async fn page(visitor: &Visitor, id: JobId, problem: Option<String>) -> Result<JobPage, Refusal> {
    let [after, failed] = visitor.parameters(["after", "failed"]);
    let is_failed_only = !failed.is_empty();
    // Before the job: what happens after it is behind this place in the stream of changes.
    let present = visitor.hosts("", 1, "").await?;
    let source = format!("{MUSTER_PATH}/jobs/{id}");
    let parameters = window(&after, is_failed_only);
    let of_window = format!("{source}?limit={WINDOW}&{parameters}");
    let job: Job = visitor.get(&of_window).await?;
    let now = present.at;
    let at = |after: &str| match window(after, is_failed_only) {
        empty if empty.is_empty() => address(id),
        window => format!("{}?{window}", address(id)),
    };
    let is_first = after.is_empty();
    let ended_at = job.ended_at.clone().unwrap_or_default();
    Ok(JobPage {
        frame: frame(visitor).await?,
        own: at(&after),
        next: job.next.as_deref().map(at),
        address: address(id),
        source,
        id,
        title: title(&job.action),
        state: job.state.name(),
        mood: mood(&job),
        is_running: job.state == JobState::Running,
        reason: job.reason.clone(),
        who: job.requested_by.clone().unwrap_or_default(),
        created: words::relative(&job.created_at, &now),
        created_at: job.created_at.clone(),
        ended: words::relative(&ended_at, &now),
        ended_at,
        before: job.retry_of.map(address),
        counts: job.counts,
        may_need_number: Kind::of(&job.action).may_need_number(),
        left: job.counts.total.saturating_sub(job.counts.done),
        is_failed_only,
        is_first,
        command: command_of(&job, is_first && !is_failed_only),
        results: job
            .results
            .iter()
            .map(|result| ResultRow::of(result, &now))
            .collect(),
        problem,
        revision: present.revision,
        at: now,
    })
}

/// The parameters of a window, of REST as of the page; empty: the first one of all results.
fn window(after: &str, is_failed_only: bool) -> String {
    let mut parameters = url::form_urlencoded::Serializer::new(String::new());
    if is_failed_only {
        parameters.append_pair("failed", "true");
    }
    if !after.is_empty() {
        parameters.append_pair("after", after);
    }
    parameters.finish()
}

/// The command that does the same with the hosts of a job; `None`: not all of them are here, or it would count them in another order.
fn command_of(job: &Job, is_from_the_first: bool) -> Option<String> {
    if !is_from_the_first || job.next.is_some() || job.results.is_empty() {
        return None;
    }
    if let JobAction::Hostname { pattern, .. } = &job.action
        && pattern.as_ref().is_some_and(|pattern| pattern.contains("{n"))
    {
        return None;
    }
    let ids: Vec<String> = job
        .results
        .iter()
        .map(|result| result.host.id.to_string())
        .collect();
    command::muster(&job.action, &format!("id:{}", ids.join(",")), "")
}

impl ResultRow {
    fn of(result: &JobResult, now: &str) -> Self {
        let at = result.at.clone().unwrap_or_default();
        Self {
            host: HostLink::of(&result.host),
            outcome: result.outcome.name(),
            mood: match result.outcome {
                JobOutcome::Pending => "busy",
                JobOutcome::Changed | JobOutcome::Already => "good",
                JobOutcome::Refused => "bad",
            },
            reason: result.reason.clone(),
            when: words::relative(&at, now),
            at,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Job, command_of, window};

    #[test]
    fn a_command_that_would_count_the_hosts_anew_is_not_shown() {
        let job = |pattern: &str| -> Job {
            serde_json::from_value(json!({
                "id": "00000000-0000-4000-8000-000000000001", "action": {"kind": "hostname", "pattern": pattern},
                "state": "finished", "created_at": "2026-12-01T13:00:00.000Z",
                "counts": {"total": 1, "done": 1, "changed": 0, "already": 0, "failed": 1},
                "results": [{"host": {"id": "00000000-0000-4000-8000-000000000002",
                    "infra_env_id": "00000000-0000-4000-8000-000000000003", "pool": "lab", "name": "a"}, "outcome": "refused"}],
            }))
            .unwrap()
        };
        assert_eq!(command_of(&job("node-{n:02}"), true), None);
        let line = command_of(&job("node-{serial}"), true).unwrap();
        assert!(
            line.starts_with("muster host hostname 'node-{serial}' --query "),
            "{line}"
        );
    }

    #[test]
    fn the_first_window_of_all_results_has_no_parameters() {
        assert_eq!(window("", false), "");
        assert_eq!(window("", true), "failed=true");
        assert_eq!(window("a b", true), "failed=true&after=a+b");
    }
}
