//! A request on its way through a BMC: its admission, the requested resource or change, the form of the response.

use std::time::Instant;

use crate::answer::{Answer, Content, map_links};
use crate::bmc::Bmc;
use crate::call::Call;
use crate::changes::{change, log_in, log_out};
use crate::etag;
use crate::problem::Problem;
use crate::resources;
use crate::tasks::TaskState;

/// Responds to a request.
pub(crate) fn answer(bmc: &mut Bmc, call: &Call, now: Instant) -> Answer {
    bmc.tick(now);
    let mut answer = route(bmc, call, now).unwrap_or_else(Answer::from);
    if let Content::Json(value) = &mut answer.content
        && bmc.quirks.slashes
    {
        map_links(value, &|link| format!("{link}/"));
    }
    answer
}

fn route(bmc: &mut Bmc, call: &Call, now: Instant) -> Result<Answer, Problem> {
    if bmc.quirks.identity_406
        && call
            .header("accept-encoding")
            .is_some_and(|wanted| wanted.contains("identity"))
    {
        let message = "The requested encoding is not acceptable.";
        return Err(Problem::new(406, "NotAcceptable", message));
    }
    let segments = call.segments();
    let path = match segments.as_slice() {
        ["redfish"] => return Ok(Answer::json(200, serde_json::json!({"v1": "/redfish/v1/"}))),
        ["redfish", "v1", path @ ..] => path,
        _ => return Err(Problem::not_found(&call.path)),
    };
    let is_login = call.method == "POST"
        && matches!(
            path,
            ["SessionService", "Sessions"] | ["SessionService", "Sessions", "Members"]
        );
    if is_login {
        return log_in(bmc, call, now);
    }
    let is_reading = matches!(call.method.as_str(), "GET" | "HEAD");
    if !(is_reading && path.is_empty()) {
        let quirks = bmc.quirks.clone();
        bmc.sessions.admit(call, &quirks, now)?;
    }
    match (call.method.as_str(), path) {
        ("GET" | "HEAD", ["TaskService", "TaskMonitors", id]) => monitor(bmc, call, id, now),
        ("GET" | "HEAD", _) => get(bmc, call, path, now),
        ("DELETE", ["SessionService", "Sessions", id]) => log_out(bmc, call, id),
        _ => change(bmc, call, path, now),
    }
}

fn get(bmc: &mut Bmc, call: &Call, path: &[&str], now: Instant) -> Result<Answer, Problem> {
    let mut found = resources::read(bmc, path, now).ok_or_else(|| Problem::not_found(&call.path))?;
    let tag = etag::tag(&found, bmc.quirks.etag);
    if let Some(tag) = &tag {
        found["@odata.etag"] = tag.as_str().into();
    }
    let can_patch = match path {
        [_, _, "VirtualMedia", _] => bmc.quirks.patch_media,
        ["Systems", _] | ["Systems", _, "Settings"] => true,
        _ => false,
    };
    let allow = if can_patch {
        "GET, HEAD, PATCH"
    } else {
        "GET, HEAD"
    };
    let answer = Answer::json(200, found).header("allow", allow);
    Ok(match tag.filter(|_| !bmc.quirks.etag.body_only) {
        Some(tag) => answer.header("etag", tag),
        None => answer,
    })
}

fn monitor(bmc: &Bmc, call: &Call, id: &str, now: Instant) -> Result<Answer, Problem> {
    let mut seen = bmc.tasks.seen(now);
    let task = seen.find(|task| task.id == id);
    let task = task.ok_or_else(|| Problem::not_found(&call.path))?;
    let body = resources::task_json(task, now);
    match task.state(now) {
        TaskState::Running => Ok(Answer::json(202, body)
            .header("location", call.path.as_str())
            .header("retry-after", "1")),
        TaskState::Completed => Ok(Answer::json(200, body)),
        TaskState::Exception(reason) => Err(Problem::new(500, "GeneralError", reason)),
    }
}
