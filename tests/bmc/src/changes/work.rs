//! Changes of the machine that are done at once, later, or as a task.

use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::bmc::{Bmc, Work};
use crate::problem::Problem;
use crate::quirks::{TaskEnd, Tasks};
use crate::resources::task_json;

/// Performs work at once; returns a response with that status.
pub(super) fn at_once(bmc: &mut Bmc, work: &Work, status: u16, now: Instant) -> Result<Answer, Problem> {
    let done = bmc.perform(work, now);
    done.map_err(|failure| {
        let status = if matches!(work, Work::Insert(..)) {
            400
        } else {
            500
        };
        Problem::new(status, "GeneralError", failure.0)
    })?;
    Ok(Answer::empty(status))
}

/// Begins a task of that name: work in that order, each piece with its delay after the task's end.
pub(super) fn as_task(
    bmc: &mut Bmc,
    name: &str,
    work: Vec<(Work, Duration)>,
    quirk: Tasks,
    now: Instant,
) -> Answer {
    let id = bmc.tasks.begin(name, quirk, now);
    if matches!(quirk.end, TaskEnd::Completed | TaskEnd::Forgotten) {
        for (work, delay) in work {
            bmc.later(work, quirk.takes + delay, Some(id.clone()), now);
        }
    }
    let monitor = format!("/redfish/v1/TaskService/TaskMonitors/{id}");
    let answer = match bmc.tasks.seen(now).find(|task| task.id == id) {
        Some(task) if quirk.location => Answer::json(202, task_json(task, now)),
        _ => Answer::empty(202),
    };
    if quirk.location {
        answer.header("location", monitor).header("retry-after", "1")
    } else {
        answer
    }
}
